#include "fleet/store/sqlite.h"

namespace geiger::fleet {
namespace {

/// Of other processes that write.
constexpr int kPatienceMs = 30'000;

}  // namespace

Statement::Statement(sqlite3* database, std::string_view text) : database_(database) {
  sqlite3_stmt* prepared = nullptr;
  check(
      sqlite3_prepare_v2(database, text.data(), static_cast<int>(text.size()), &prepared, nullptr));
  statement_.reset(prepared);
}

void Statement::check(int result) const {
  if (result != SQLITE_OK) throw DatabaseError(sqlite3_errmsg(database_));
}

Statement& Statement::bind(std::string_view text) {
  check(sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  check(sqlite3_bind_int64(statement_.get(), ++bound_, number));
  return *this;
}

Statement& Statement::bind(const std::optional<std::uint64_t>& number) {
  if (number) return bind(*number);
  check(sqlite3_bind_null(statement_.get(), ++bound_));
  return *this;
}

bool Statement::next() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  throw DatabaseError(sqlite3_errmsg(database_));
}

void Statement::run() {
  while (next()) {
  }
  reset();
}

Statement& Statement::reset() {
  // What step() failed with was thrown there.
  static_cast<void>(sqlite3_reset(statement_.get()));
  bound_ = 0;
  return *this;
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? "" : std::string(bytes, static_cast<std::size_t>(size));
}

Database::Database(const std::string& path, int flags) {
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  handle_.reset(opened);
  if (result != SQLITE_OK) {
    throw DatabaseError(opened != nullptr ? sqlite3_errmsg(opened) : sqlite3_errstr(result));
  }
  sqlite3_busy_timeout(opened, kPatienceMs);
}

void Database::execute(const std::string& statements) {
  if (sqlite3_exec(handle_.get(), statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw DatabaseError(sqlite3_errmsg(handle_.get()));
  }
}

std::int64_t Database::integer_of(std::string_view query) {
  Statement statement = prepare(query);
  return statement.next() ? statement.integer(0) : 0;
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!is_open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const DatabaseError&) {
    // Some errors end the transaction by themselves.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  is_open_ = false;
}

}  // namespace geiger::fleet
