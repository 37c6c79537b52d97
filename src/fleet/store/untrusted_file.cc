#include "fleet/store/untrusted_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "fleet/store/schema_sections.h"
#include "fleet/store/schema_text.h"

namespace geiger::fleet {
namespace {

/// By type and name, as SQLite keeps them.
using Definitions = std::map<std::pair<std::string, std::string>, std::string>;

Definitions definitions_of(sqlite::Database& database) {
  Definitions definitions;
  sqlite::Statement query =
      database.prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL");
  while (query.next()) definitions[{query.text(0), query.text(1)}] = query.text(2);
  return definitions;
}

Definitions own_definitions(std::int64_t version) {
  sqlite::Database own(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  for (const SchemaSection& section : sections_of(kSqliteSchema)) {
    if (section.version > version) break;
    for (const std::string& statement : section.statements) own.execute(statement);
  }
  return definitions_of(own);
}

}  // namespace

base::Outcome<void> check_companions(const std::string& path) {
  for (const std::string_view end : {"-wal", "-shm", "-journal"}) {
    const std::string companion = path + std::string(end);
    struct stat file {};
    if (lstat(companion.c_str(), &file) != 0) {
      if (errno == ENOENT) continue;
      return base::Failure{companion + ": " + std::strerror(errno)};
    }
    if (!S_ISREG(file.st_mode)) return base::Failure{companion + ": is not a regular file"};
    // A store has a journal only until its tables are there.
    if (end == "-journal" && file.st_uid != geteuid()) {
      return base::Failure{companion + ": is owned by another user"};
    }
  }
  return {};
}

void check_schema(sqlite::Database& database, std::int64_t version) {
  const Definitions own = own_definitions(version);
  const Definitions found = definitions_of(database);
  for (const auto& [name, definition] : own) {
    const auto same = found.find(name);
    if (same == found.end() || same->second != definition) {
      throw sqlite::Error("its " + name.first + " " + name.second + " was not made by geiger");
    }
  }
  for (const auto& [name, definition] : found) {
    if (name.first == "trigger") {
      throw sqlite::Error("its trigger " + name.second + " was not made by geiger");
    }
  }
}

}  // namespace geiger::fleet
