#include "analysis/export/sql/sqlite.h"

#include <string>

#include "analysis/export/sql/sql.h"
#include "sqlite/database.h"

namespace geiger::exports {

void write_sqlite(const profile::Recording& recording, const Sink& sink,
                  const profile::Selection& part) {
  sqlite::Database database(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const auto run = [&](std::string_view statements) { database.execute(std::string(statements)); };
  write_sql(recording, run, part);
  sink(database.serialized());
}

}  // namespace geiger::exports
