// The store of large fleets: a database of a ClickHouse server.
#pragma once

#include <memory>
#include <string>

#include "base/outcome.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

/// For queries. Fails where the database has no tables, or those of a newer geiger.
[[nodiscard]] base::Outcome<std::unique_ptr<Store>> open_clickhouse(const std::string& url,
                                                                    const StoreOptions& options);
/// For inserts, by a user who may have no other rights: nothing is queried before it is needed.
[[nodiscard]] base::Outcome<std::unique_ptr<Store>> open_clickhouse_sink(
    const std::string& url, const StoreOptions& options);
/// Makes the database and its tables, or brings them up to date.
[[nodiscard]] base::Outcome<void> prepare_clickhouse(const std::string& url,
                                                     const StoreOptions& options);

}  // namespace geiger::fleet
