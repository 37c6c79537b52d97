// Adds up past days, and drops what is too old.
#pragma once

#include "fleet/store/clickhouse_server.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

/// As Store::maintain(). However it is interrupted, the next one goes on. Throws ServerError.
[[nodiscard]] Upkeep maintain(ClickHouseServer& server, const Retention& retention);

}  // namespace geiger::fleet
