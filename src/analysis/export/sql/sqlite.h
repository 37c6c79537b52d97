// Writes a recording as an SQLite database file, with the tables and views of write_sql.
#pragma once

#include "analysis/export/streams/sink.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::exports {

/// Builds the database in memory and writes its file. Throws std::runtime_error with
/// SQLite's reason when it refuses, which only a lack of memory can cause, or why its module cannot
/// be loaded.
void write_sqlite(const profile::Recording& recording, const Sink& sink,
                  const profile::Selection& part = {});

}  // namespace geiger::exports
