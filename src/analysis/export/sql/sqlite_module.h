// The module libgeiger-sqlite.so: nothing else of geiger needs SQLite.
#pragma once

#include <memory>
#include <string_view>

#include "analysis/export/streams/sink.h"

namespace geiger::exports {

/// A database in memory. Its functions throw std::runtime_error with SQLite's reason when it
/// refuses.
class SqliteDatabase {
 public:
  SqliteDatabase() = default;
  virtual ~SqliteDatabase() = default;
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  virtual void run(std::string_view statements) = 0;
  /// As a database file has it.
  virtual void write(const Sink& sink) = 0;
};

inline constexpr const char* kSqliteModule = "libgeiger-sqlite.so";
inline constexpr const char* kMakeSqliteDatabase = "geiger_make_sqlite_database";

}  // namespace geiger::exports

/// Makes an empty database, which the caller owns.
extern "C" geiger::exports::SqliteDatabase* geiger_make_sqlite_database();
