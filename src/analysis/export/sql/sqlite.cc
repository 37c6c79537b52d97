#include "analysis/export/sql/sqlite.h"

#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "analysis/export/sql/sql.h"

namespace geiger::exports {
namespace {

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct Free {
  void operator()(unsigned char* bytes) const { sqlite3_free(bytes); }
};
using Database = std::unique_ptr<sqlite3, Close>;

void check(sqlite3* database, int result) {
  if (result == SQLITE_OK) return;
  throw std::runtime_error(std::string("SQLite: ") +
                           (database ? sqlite3_errmsg(database) : sqlite3_errstr(result)));
}

Database in_memory() {
  sqlite3* opened = nullptr;
  const int result = sqlite3_open(":memory:", &opened);
  Database database(opened);
  check(opened, result);
  return database;
}

}  // namespace

void write_sqlite(const profile::Recording& recording, const Sink& sink,
                  const profile::Selection& part) {
  const Database database = in_memory();
  const auto run = [&](std::string_view statements) {
    const std::string text(statements);
    check(database.get(), sqlite3_exec(database.get(), text.c_str(), nullptr, nullptr, nullptr));
  };
  write_sql(recording, run, part);
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, Free> file(
      sqlite3_serialize(database.get(), "main", &size, 0));
  if (!file) throw std::runtime_error("SQLite: out of memory");
  sink({reinterpret_cast<const char*>(file.get()), static_cast<std::size_t>(size)});
}

}  // namespace geiger::exports
