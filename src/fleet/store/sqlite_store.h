// What a file has to be before it is used as a store: it, or its folder, may be another user's
// work.
#pragma once

#include <cstdint>
#include <string>

#include "base/outcome.h"
#include "sqlite/database.h"

namespace geiger::fleet {

/// Fails if SQLite would find something else beside the file at `path` than its own files: it
/// follows links to write there, and a journal can name a file that it deletes.
[[nodiscard]] base::Outcome<void> check_companions(const std::string& path);

/// Throws sqlite::Error unless the tables, views and indexes of a store are those that geiger made
/// for this version of the schema, and nothing runs when rows are written. A view or trigger of
/// the same name could return or change anything. Other names are not used, and may be there.
void check_schema(sqlite::Database& database, std::int64_t version);

}  // namespace geiger::fleet
