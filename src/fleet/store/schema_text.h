// The texts of schema.sql and clickhouse_schema.sql.
#pragma once

namespace geiger::fleet {
extern const char* const kSqliteSchema;
extern const char* const kClickHouseSchema;
}  // namespace geiger::fleet
