// The texts of schema.sql and clickhouse_schema.sql.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace geiger::fleet {

extern const char* const kSqliteSchema;
extern const char* const kClickHouseSchema;

// Schemas and their migrations: a file of statements in sections, each of which begins with a line
// "-- version N" and leads from the version before to N.

struct SchemaSection {
  std::int64_t version = 0;
  std::vector<std::string> statements;  ///< Without comments.
};

/// In order of versions, from 1.
[[nodiscard]] std::vector<SchemaSection> sections_of(std::string_view schema);

}  // namespace geiger::fleet
