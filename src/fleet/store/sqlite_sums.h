// Queries of a store's file. They throw sqlite::Error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/store/store.h"
#include "sqlite/database.h"

namespace geiger::fleet {

// As the functions of Store of these names.
[[nodiscard]] std::vector<HostSums> sum_hosts(sqlite::Database& database, const Filter& filter);
void sum_rows_by_host(sqlite::Database& database, const Filter& filter, const Store::TakeRow& take);
void sum_rows(sqlite::Database& database, const Filter& filter, const Store::TakeRow& take);
void sum_rows_and_hosts(sqlite::Database& database, const Filter& filter,
                        const Store::TakeRow& take, const Store::TakeRow& take_host);
[[nodiscard]] std::vector<StepSums> sum_steps(sqlite::Database& database, const Filter& filter,
                                              std::int64_t length);
void sum_rows_by_time(sqlite::Database& database, const Filter& filter, std::int64_t length,
                      const Store::TakeTimedRow& take);
[[nodiscard]] HoursOfDay sum_hours_of_day(sqlite::Database& database, const Filter& filter);
[[nodiscard]] std::uint64_t count_shared_seeds(sqlite::Database& database,
                                               const std::vector<Filter>& parts);
[[nodiscard]] std::vector<GapRow> find_gaps(sqlite::Database& database, const Filter& filter);
[[nodiscard]] std::vector<std::string> find_label_values(sqlite::Database& database,
                                                         const Filter& filter,
                                                         const std::string& name);
[[nodiscard]] std::vector<Location> find_unnamed(sqlite::Database& database);
void find_versions_of_stacks(sqlite::Database& database, const Filter& filter,
                             const Store::TakeVersion& take);
[[nodiscard]] std::vector<ProcessFacts> find_processes(sqlite::Database& database,
                                                       const Filter& filter);
[[nodiscard]] std::vector<ProcessFacts> find_seed_sharers(sqlite::Database& database);
[[nodiscard]] std::vector<ClockFacts> find_wrong_clocks(sqlite::Database& database);
/// In a transaction of the caller.
void remove_windows(sqlite::Database& database, const Filter& filter);

}  // namespace geiger::fleet
