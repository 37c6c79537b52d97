// Queries of ClickHouse's tables. The functions throw ServerError.
//
// Rows may be there twice until the server merges them, and counts without the window that commits
// them. A day whose counts add up to what its windows say has neither, and is read as it is; only
// of others rows are made distinct, which takes several times as long, and windows that are short
// of rows are left out. Days that were rolled up are read from `daily`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/document/cut.h"
#include "fleet/store/clickhouse_server.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

class ClickHouseSums {
 public:
  explicit ClickHouseSums(ClickHouseServer& server) : server_(server) {}

  // As the functions of Store of these names.
  [[nodiscard]] std::vector<std::string> services();
  [[nodiscard]] std::vector<VersionFacts> versions();
  [[nodiscard]] std::vector<HostSums> hosts(const Filter& filter);
  void rows_by_host(const Filter& filter, const Store::TakeRow& take);
  void expect_rows(const Filter& filter);
  void rows(const Filter& filter, const Store::TakeRow& take);
  void rows_and_hosts(const Filter& filter, const Store::TakeRow& take,
                      const Store::TakeRow& take_host);
  [[nodiscard]] std::vector<StepSums> steps(const Filter& filter, std::int64_t length);
  [[nodiscard]] HoursOfDay hours_of_day(const Filter& filter);
  void rows_by_time(const Filter& filter, std::int64_t length, const Store::TakeTimedRow& take);
  [[nodiscard]] std::vector<GapRow> gaps(const Filter& filter);
  [[nodiscard]] std::vector<std::string> label_values(const Filter& filter,
                                                      const std::string& name);

  void versions_of_stacks(const Filter& filter, const Store::TakeVersion& take);
  [[nodiscard]] std::vector<ProcessFacts> processes(const Filter& filter);
  [[nodiscard]] std::vector<ProcessFacts> with_shared_seeds();
  [[nodiscard]] std::vector<ClockFacts> wrong_clocks();
  void remove(const Filter& filter);
  [[nodiscard]] std::uint64_t shared_seeds(const std::vector<Filter>& parts);
  [[nodiscard]] Health health(std::int64_t from);

  /// Something was inserted.
  void forget() {
    known_.clear();
    expected_ = {};
  }

 private:
  /// Windows with fewer rows or samples than they say.
  [[nodiscard]] std::uint64_t incomplete_windows();

  enum class Source : std::uint8_t { kCounts, kDistinct, kDaily };
  /// Where the counts of [from, to) are; whole days, except at both ends of the request.
  struct Stretch {
    Source source;
    std::int64_t from, to;
  };
  /// By day since 1970: rows and samples.
  using DayTotals = std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>>;
  enum class May : std::uint8_t { kUseDaily, kNeedCounts };

  /// The counts of a filter's windows that are read as they are, once they were read.
  struct Expected {
    std::string clause;
    std::optional<std::map<RowKey, SummedRow>> rows;
  };

  [[nodiscard]] DayTotals totals(const std::string& query);
  [[nodiscard]] DayTotals add_up_expected(const Filter& filter, std::int64_t from);
  [[nodiscard]] bool has_one_service();
  [[nodiscard]] const std::vector<Stretch>& stretches(const Filter& filter, May may);
  [[nodiscard]] std::vector<Stretch> find_stretches(const Filter& filter, May may);
  [[nodiscard]] std::string windows_of(const Filter& filter, May may);
  /// What counts are added up by.
  struct By {
    std::string part, part_of_day;  ///< Expressions of the tables of windows, and of days.
    bool has_stack = true;          ///< Else by all of a cell but its stack, which is 0.
  };
  [[nodiscard]] std::string counts_in(const Stretch& stretch, const Filter& filter, const By& by);
  void sum_counts(const std::vector<Stretch>& stretches, const Filter& filter, const By& by,
                  const TabRows::Take& take);

  ClickHouseServer& server_;
  std::map<std::string, std::vector<Stretch>> known_;  ///< By request.
  Expected expected_;
};

// Adds up past days, and drops what is too old.

/// As Store::maintain(). However it is interrupted, the next one goes on. Throws ServerError.
[[nodiscard]] Upkeep maintain(ClickHouseServer& server, const Retention& retention);

}  // namespace geiger::fleet
