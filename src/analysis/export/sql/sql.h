// A recording as SQL, and as an SQLite database file.
#pragma once

#include <string_view>

#include "analysis/export/streams/sink.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::exports {

// A recording as SQL: tables of what was recorded and views that estimate from
// them, in the SQL that SQLite and PostgreSQL have in common (docs/guide/sql.md).

/// sql/tables.sql: CREATE TABLE for all that write_sql fills.
[[nodiscard]] std::string_view sql_tables();

/// sql/estimates.sql: the views over these tables.
[[nodiscard]] std::string_view sql_views();

/// One script: tables, rows, views, in one transaction. Every call of `sink` hands
/// over whole statements. Integers beyond 2^63 - 1, which no SQL integer holds, are
/// written as that. Levels are set in SQL; the script starts with 95 %. `part`: what of
/// the recording its counts are of, each kind as profile::of_kind() says.
void write_sql(const profile::Recording& recording, const Sink& sink,
               const profile::Selection& part = {});

// Writes a recording as an SQLite database file, with the tables and views of write_sql.

/// Builds the database in memory and writes its file. Throws std::runtime_error with
/// SQLite's reason when it refuses, which only a lack of memory can cause, or why its module cannot
/// be loaded.
void write_sqlite(const profile::Recording& recording, const Sink& sink,
                  const profile::Selection& part = {});

}  // namespace geiger::exports
