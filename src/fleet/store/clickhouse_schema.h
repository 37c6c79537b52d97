// The tables in a ClickHouse server.
#pragma once

#include <string>

#include "base/outcome.h"
#include "fleet/store/clickhouse_server.h"

namespace geiger::fleet {

/// A statement of the schema as servers before version 20 take it: without codecs, LowCardinality,
/// TTL and settings.
[[nodiscard]] std::string for_old_servers(std::string statement);

/// Makes the database and its tables, or brings them up to date. Throws ServerError.
void make_tables(ClickHouseServer& server);

/// Whether the tables are those that this geiger knows.
[[nodiscard]] base::Outcome<void> check_tables(ClickHouseServer& server);

/// Says how to make them.
[[nodiscard]] base::Failure missing_tables(const ClickHouseServer& server);

}  // namespace geiger::fleet
