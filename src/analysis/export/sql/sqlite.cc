#include "analysis/export/sql/sqlite.h"

#include <memory>
#include <stdexcept>

#include "analysis/export/sql/sql.h"
#include "analysis/export/sql/sqlite_module.h"
#include "modules/module.h"

namespace geiger::exports {

void write_sqlite(const profile::Recording& recording, const Sink& sink,
                  const profile::Selection& part) {
  const auto made =
      modules::call<decltype(geiger_make_sqlite_database)>(kSqliteModule, kMakeSqliteDatabase);
  if (!made.has_value()) throw std::runtime_error("cannot load SQLite: " + made.reason());
  const std::unique_ptr<SqliteDatabase> database(made.value());
  const auto run = [&](std::string_view statements) { database->run(statements); };
  write_sql(recording, run, part);
  database->write(sink);
}

}  // namespace geiger::exports
