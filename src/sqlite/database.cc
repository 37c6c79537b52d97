#include "sqlite/database.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/unique_fd.h"
#include "modules/module.h"

namespace geiger::sqlite {
namespace {

/// Of other processes that write.
constexpr int kPatienceMs = 30'000;
/// Of a value, and of a row.
constexpr int kMostBytes = 16 << 20;

/// SQLite would make it by the umask. What it puts beside a file gets the file's permissions. Where
/// this fails SQLite says why. A file that is there is not opened: to close it would give up the
/// locks that this process has on it.
void make_for_owner(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0) return;
  const base::UniqueFd made(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

const Functions& loaded_functions() {
  const auto functions =
      modules::call<decltype(geiger_sqlite_functions)>(kModule, kFunctionsOfModule);
  if (!functions.has_value()) throw Error("cannot load SQLite: " + functions.reason());
  return *functions.value();
}

}  // namespace

Statement::Statement(const Functions& functions, sqlite3* database, std::string_view text)
    : functions_(&functions), database_(database), statement_(nullptr, functions.finalize) {
  sqlite3_stmt* prepared = nullptr;
  check(functions_->prepare_v2(database, text.data(), static_cast<int>(text.size()), &prepared,
                               nullptr));
  statement_.reset(prepared);
}

void Statement::check(int result) const {
  if (result != SQLITE_OK) throw Error(functions_->errmsg(database_));
}

Statement& Statement::bind(std::string_view text) {
  check(functions_->bind_text64(statement_.get(), ++bound_, text.data(), text.size(),
                                SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  check(functions_->bind_int64(statement_.get(), ++bound_, number));
  return *this;
}

Statement& Statement::bind(const std::optional<std::uint64_t>& number) {
  if (number) return bind(*number);
  check(functions_->bind_null(statement_.get(), ++bound_));
  return *this;
}

bool Statement::next() {
  const int result = functions_->step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  throw Error(functions_->errmsg(database_));
}

void Statement::run() {
  while (next()) {
  }
  reset();
}

std::int64_t Statement::insert() {
  run();
  return functions_->last_insert_rowid(database_);
}

Statement& Statement::reset() {
  // What step() failed with was thrown there.
  static_cast<void>(functions_->reset(statement_.get()));
  bound_ = 0;
  return *this;
}

std::string Statement::text(int column) const {
  const auto* bytes =
      reinterpret_cast<const char*>(functions_->column_text(statement_.get(), column));
  const int size = functions_->column_bytes(statement_.get(), column);
  return bytes == nullptr ? "" : std::string(bytes, static_cast<std::size_t>(size));
}

Database::Database(const std::string& path, int flags)
    : functions_(loaded_functions()), handle_(nullptr, functions_.close) {
  if ((flags & SQLITE_OPEN_CREATE) != 0 && path != ":memory:") make_for_owner(path);
  sqlite3* opened = nullptr;
  // One thread at a time uses a database, so that SQLite need not lock at every call.
  const int result =
      functions_.open_v2(path.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(opened);
  if (result != SQLITE_OK) {
    throw Error(opened != nullptr ? functions_.errmsg(opened) : functions_.errstr(result));
  }
  functions_.busy_timeout(opened, kPatienceMs);
  distrust();
}

/// None of these can fail with a database that is open.
void Database::distrust() {
  sqlite3* const opened = handle_.get();
  functions_.db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  functions_.db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  functions_.limit(opened, SQLITE_LIMIT_LENGTH, kMostBytes);
  functions_.exec(opened, "PRAGMA cell_size_check = ON", nullptr, nullptr, nullptr);
}

void Database::execute(const std::string& statements) {
  if (functions_.exec(handle_.get(), statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw Error(functions_.errmsg(handle_.get()));
  }
}

std::int64_t Database::integer_of(std::string_view query) {
  Statement statement = prepare(query);
  return statement.next() ? statement.integer(0) : 0;
}

void Database::watch(std::function<void()> tick) {
  constexpr int kInstructions = 200'000;  // Some milliseconds.
  tick_ = std::move(tick);
  const auto call = [](void* context) {
    static_cast<Database*>(context)->tick_();
    return 0;
  };
  functions_.progress_handler(handle_.get(), kInstructions, tick_ ? +call : nullptr, this);
}

std::string Database::serialized() {
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(Functions::free)> bytes(
      functions_.serialize(handle_.get(), "main", &size, 0), functions_.free);
  if (!bytes) throw Error("out of memory");
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!is_open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const Error&) {
    // Some errors end the transaction by themselves.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  is_open_ = false;
}

}  // namespace geiger::sqlite
