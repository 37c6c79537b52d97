#include "analysis/export/sql/sqlite_module.h"

#include <sqlite3.h>

#include <stdexcept>
#include <string>

namespace geiger::exports {
namespace {

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct Free {
  void operator()(unsigned char* bytes) const { sqlite3_free(bytes); }
};

class Database : public SqliteDatabase {
 public:
  Database() {
    sqlite3* opened = nullptr;
    const int result = sqlite3_open(":memory:", &opened);
    database_.reset(opened);
    check(result);
  }

  void run(std::string_view statements) override {
    const std::string text(statements);
    check(sqlite3_exec(database_.get(), text.c_str(), nullptr, nullptr, nullptr));
  }

  void write(const Sink& sink) override {
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, Free> file(
        sqlite3_serialize(database_.get(), "main", &size, 0));
    if (!file) throw std::runtime_error("SQLite: out of memory");
    sink({reinterpret_cast<const char*>(file.get()), static_cast<std::size_t>(size)});
  }

 private:
  void check(int result) const {
    if (result == SQLITE_OK) return;
    throw std::runtime_error(std::string("SQLite: ") + (database_ ? sqlite3_errmsg(database_.get())
                                                                  : sqlite3_errstr(result)));
  }

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace
}  // namespace geiger::exports

geiger::exports::SqliteDatabase* geiger_make_sqlite_database() {
  return new geiger::exports::Database();
}
