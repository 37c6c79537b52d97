#include "fleet/store/sqlite_sums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "fleet/store/sum_queries.h"

namespace geiger::fleet {
namespace {

/// A condition on `windows`, and its parameters.
struct Condition {
  std::string text;
  std::vector<std::string> values;
  const char* table = "windows";

  [[nodiscard]] std::string windows() const { return fmt::format("{} WHERE {}", table, text); }
};

/// The value of a label of a window; '' where it has none. `name` is an expression of SQL.
std::string label_of_window(const std::string& name) {
  return "COALESCE((SELECT value FROM window_labels AS l WHERE l.window_id = windows.window_id "
         "AND l.name = " +
         name + "), '')";
}

/// What of a window no earlier one covers, of those in order of their beginnings.
const Union& union_of_sqlite() {
  static const Union kUnion{
      [](const std::string& parts) {
        std::string columns = ", COALESCE(began_ms, started * 1000) AS began";
        for (const char* length : {"recorded_ms", "alive_ms"}) {
          columns += fmt::format(
              ", MAX(COALESCE(began_ms, started * 1000) + {0}) OVER (PARTITION BY {1} ORDER BY "
              "COALESCE(began_ms, started * 1000) ROWS BETWEEN UNBOUNDED PRECEDING AND 1 "
              "PRECEDING) AS before_{0}",
              length, parts);
        }
        return columns;
      },
      [](const std::string& length) {
        return fmt::format("SUM(MAX(began + {0} - MAX(began, COALESCE(before_{0}, 0)), 0))",
                           length);
      }};
  return kUnion;
}

/// Whether a large part of all windows is of the service and version, at any time. These are read
/// faster in the order of the table than by an index, which SQLite would choose.
bool is_large_part(sqlite::Database& database, const Filter& filter) {
  if (filter.from || filter.to || filter.host) return false;
  constexpr std::int64_t kLarge = 4;
  sqlite::Statement count = database.prepare(fmt::format(
      "SELECT COUNT(*), (SELECT MAX(window_id) FROM windows) FROM windows WHERE service "
      "= ?{}",
      filter.version ? " AND version = ?" : ""));
  count.bind(filter.service);
  if (filter.version) count.bind(*filter.version);
  return count.next() && count.integer(0) * kLarge >= count.integer(1);
}

Condition condition_of(sqlite::Database& database, const Filter& filter) {
  Condition condition;
  if (is_large_part(database, filter)) condition.table = "windows NOT INDEXED";
  const auto parameter = [&](const std::string& value) {
    condition.values.push_back(value);
    return std::string("?");
  };
  condition.text = condition_of(
      filter, {.text = parameter,
               .label = [&](const std::string& name) { return label_of_window(parameter(name)); },
               .numbers =
                   [](const std::vector<std::uint64_t>& numbers) {
                     const std::vector<std::int64_t> with_signs(numbers.begin(), numbers.end());
                     return fmt::format("{}", fmt::join(with_signs, ", "));
                   }});
  return condition;
}

void bind(sqlite::Statement& statement, const Condition& condition) {
  for (const std::string& value : condition.values) statement.bind(value);
}

/// What read() makes of each row.
template <typename Read>
auto all_rows(sqlite::Statement query, const Condition& condition, const Read& read) {
  bind(query, condition);
  std::vector<decltype(read(query))> all;
  while (query.next()) all.push_back(read(query));
  return all;
}

/// The cells that occur, each read once: hosts have most of them in common. They are numbered in
/// the order of their first counts.
class Cells {
 public:
  explicit Cells(sqlite::Database& database)
      : query_(database.prepare("SELECT '', stack_id, size, step, thinning, certain, 0, 0 FROM "
                                "cells WHERE cell_id = ?")) {}

  std::size_t number_of(std::int64_t id) {
    const auto [place, is_new] = numbers_.try_emplace(id, rows_.size());
    if (is_new) {
      rows_.push_back(query_.reset().bind(id).next() ? std::optional(read_counts(query_))
                                                     : std::nullopt);
    }
    return place->second;
  }
  /// Its row with counts of 0; nothing if the file has no such cell.
  [[nodiscard]] const std::optional<SummedRow>& row(std::size_t number) const {
    return rows_[number];
  }

 private:
  sqlite::Statement query_;
  std::unordered_map<std::int64_t, std::size_t> numbers_;
  std::vector<std::optional<SummedRow>> rows_;
};

struct CountSums {
  std::uint64_t allocated = 0, live_ms = 0;
};

/// Counts of numbered things, such as cells, added up.
class Sums {
 public:
  void add(std::size_t number, const CountSums& counts) {
    if (number >= sums_.size()) sums_.resize(number + number / 2 + 1);
    CountSums& sum = sums_[number];
    if (sum.allocated == 0 && sum.live_ms == 0) counted_.push_back(number);
    sum.allocated += counts.allocated;
    sum.live_ms += counts.live_ms;
  }
  /// Calls take(number, sums) for each thing with counts, and begins anew.
  template <typename Take>
  void hand_over(const Take& take) {
    for (const std::size_t number : counted_) take(number, std::exchange(sums_[number], {}));
    counted_.clear();
  }

 private:
  std::vector<CountSums> sums_;
  std::vector<std::size_t> counted_;  ///< Those that are not 0, and some twice that were.
};

SummedRow with_counts(SummedRow row, const CountSums& counts) {
  row.allocated = counts.allocated;
  row.live_ms = counts.live_ms;
  return row;
}

/// Hands over the counts of windows, add(cell_id, counts), and calls end(part) after those of each
/// value of `group`, an expression, in order of it. Added up by the caller and not by GROUP BY,
/// which sorts all rows: that took three times as long. The query of the windows stays open, so all
/// queries read the same state of the file.
template <typename Add, typename End>
void for_each_count(sqlite::Database& database, const Filter& filter, const std::string& group,
                    const Add& add, const End& end) {
  const Condition condition = condition_of(database, filter);
  sqlite::Statement windows = database.prepare(
      fmt::format("SELECT {} AS part, window_id, recorded_ms FROM {} ORDER BY part, window_id",
                  group, condition.windows()));
  sqlite::Statement counts =
      database.prepare("SELECT cell_id, allocated, live FROM window_counts WHERE window_id = ?");
  bind(windows, condition);
  std::string part;
  while (windows.next()) {
    if (std::string next = windows.text(0); next != part) {
      end(part);
      part = std::move(next);
    }
    const std::uint64_t recorded_ms = windows.number(2);
    counts.reset().bind(windows.integer(1));
    while (counts.next()) {
      add(counts.integer(0), CountSums{counts.number(1), counts.number(2) * recorded_ms});
    }
  }
  end(part);
}

/// take(part, row) of the counts of each value of `group`, in order of it.
template <typename Take>
void sum_counts(sqlite::Database& database, const Filter& filter, const std::string& group,
                const Take& take) {
  Cells cells(database);
  Sums sums;
  const auto add = [&](std::int64_t cell, const CountSums& counts) {
    sums.add(cells.number_of(cell), counts);
  };
  for_each_count(database, filter, group, add, [&](const std::string& part) {
    sums.hand_over([&](std::size_t number, const CountSums& counts) {
      if (const auto& row = cells.row(number)) take(part, with_counts(*row, counts));
    });
  });
}

/// Cells that differ in nothing but their stacks, numbered.
class AnyStack {
 public:
  std::size_t number_of(const SummedRow& cell) {
    const Key key{cell.size, cell.interval, cell.thinning, cell.is_certain};
    const auto [place, is_new] = numbers_.try_emplace(key, rows_.size());
    if (is_new) rows_.emplace_back(cell).stack = 0;
    return place->second;
  }
  [[nodiscard]] const SummedRow& row(std::size_t number) const { return rows_[number]; }

 private:
  using Key = std::tuple<Bytes, Bytes, std::uint32_t, bool>;
  std::map<Key, std::size_t> numbers_;
  std::vector<SummedRow> rows_;
};

}  // namespace

std::vector<HostSums> sum_hosts(sqlite::Database& database, const Filter& filter) {
  const Condition condition = condition_of(database, filter);
  const std::string windows = condition.windows();
  auto hosts = all_rows(database.prepare(hosts_query(windows, union_of_sqlite())), condition,
                        read_host<sqlite::Statement>);
  const auto open = all_rows(database.prepare(open_totals_query(windows, "host")), condition,
                             read_open<sqlite::Statement>);
  for (HostSums& host : hosts) settle(host, host.host, open);
  return hosts;
}

std::vector<StepSums> sum_steps(sqlite::Database& database, const Filter& filter,
                                std::int64_t length) {
  const Condition condition = condition_of(database, filter);
  const std::string windows = condition.windows();
  auto steps = all_rows(database.prepare(steps_query(windows, length, union_of_sqlite())),
                        condition, read_step<sqlite::Statement>);
  const auto open = all_rows(database.prepare(open_totals_query(windows, step_of(length))),
                             condition, read_open<sqlite::Statement>);
  for (StepSums& step : steps) settle(step.sums, std::to_string(step.started), open);
  return steps;
}

HoursOfDay sum_hours_of_day(sqlite::Database& database, const Filter& filter) {
  const Condition condition = condition_of(database, filter);
  sqlite::Statement query =
      database.prepare(hours_of_day_query(condition.windows(), union_of_sqlite()));
  bind(query, condition);
  HoursOfDay hours{};
  while (query.next()) read_hour(query, hours);
  return hours;
}

std::uint64_t count_shared_seeds(sqlite::Database& database, const std::vector<Filter>& parts) {
  std::vector<Condition> conditions;
  std::vector<std::string> windows;
  for (const Filter& part : parts) {
    windows.push_back(conditions.emplace_back(condition_of(database, part)).windows());
  }
  sqlite::Statement query = database.prepare(shared_seeds_query(windows));
  for (const Condition& condition : conditions) bind(query, condition);
  return query.next() ? query.number(0) : 0;
}

void sum_rows_by_host(sqlite::Database& database, const Filter& filter,
                      const Store::TakeRow& take) {
  sum_counts(database, filter, "host", take);
}

void sum_rows(sqlite::Database& database, const Filter& filter, const Store::TakeRow& take) {
  sum_counts(database, filter, "''", take);
}

void sum_rows_and_hosts(sqlite::Database& database, const Filter& filter,
                        const Store::TakeRow& take, const Store::TakeRow& take_host) {
  Cells cells(database);
  AnyStack any_stack;
  std::vector<std::optional<std::size_t>> of_cell;  // Its number in any_stack.
  Sums all, of_host;
  const auto add = [&](std::int64_t id, const CountSums& counts) {
    const std::size_t cell = cells.number_of(id);
    if (cell == of_cell.size()) {
      const auto& row = cells.row(cell);
      of_cell.push_back(row ? std::optional(any_stack.number_of(*row)) : std::nullopt);
    }
    if (!of_cell[cell]) return;
    all.add(cell, counts);
    of_host.add(*of_cell[cell], counts);
  };
  for_each_count(database, filter, "host", add, [&](const std::string& host) {
    of_host.hand_over([&](std::size_t number, const CountSums& counts) {
      take_host(host, with_counts(any_stack.row(number), counts));
    });
  });
  all.hand_over([&](std::size_t cell, const CountSums& counts) {
    take("", with_counts(*cells.row(cell), counts));
  });
}

void sum_rows_by_time(sqlite::Database& database, const Filter& filter, std::int64_t length,
                      const Store::TakeTimedRow& take) {
  sum_counts(database, filter, step_of(length), [&](const std::string& part, const SummedRow& row) {
    take(base::number_in<std::int64_t>(part).value_or(0), row);
  });
}

std::vector<GapRow> find_gaps(sqlite::Database& database, const Filter& filter) {
  const Condition condition = condition_of(database, at_any_time(filter));
  return all_rows(database.prepare(gaps_query("gaps", condition.windows(), filter)), condition,
                  [&](const sqlite::Statement& row) { return read_gap(row, filter); });
}

std::vector<std::string> find_label_values(sqlite::Database& database, const Filter& filter,
                                           const std::string& name) {
  Condition condition = condition_of(database, filter);
  const std::string query = label_values_query(condition.windows(), label_of_window("?"));
  condition.values.insert(condition.values.begin(), name);
  return all_rows(database.prepare(query), condition,
                  [](const sqlite::Statement& row) { return row.text(0); });
}

void find_versions_of_stacks(sqlite::Database& database, const Filter& filter,
                             const Store::TakeVersion& take) {
  const Condition condition = condition_of(database, filter);
  sqlite::Statement query = database.prepare(
      fmt::format("SELECT DISTINCT version, stack_id FROM (SELECT window_id, version FROM {}) JOIN "
                  "window_counts USING (window_id) JOIN cells USING (cell_id)",
                  condition.windows()));
  bind(query, condition);
  while (query.next()) take(query.number(1), query.text(0));
}

std::vector<ProcessFacts> find_processes(sqlite::Database& database, const Filter& filter) {
  const Condition condition = condition_of(database, filter);
  return all_rows(database.prepare(processes_query(condition.windows())), condition,
                  read_process<sqlite::Statement>);
}

void remove_windows(sqlite::Database& database, const Filter& filter) {
  const Condition condition = condition_of(database, filter);
  database.execute("CREATE TEMP TABLE removed (window_id INTEGER PRIMARY KEY, host, process)");
  sqlite::Statement choose = database.prepare(
      "INSERT INTO removed SELECT window_id, host, process FROM " + condition.windows());
  bind(choose, condition);
  choose.run();
  for (const char* table : {"window_counts", "window_labels", "windows"}) {
    database.execute(
        fmt::format("DELETE FROM {} WHERE window_id IN (SELECT window_id FROM removed)", table));
  }
  database.execute(
      "DELETE FROM cells WHERE cell_id NOT IN (SELECT cell_id FROM window_counts);"
      "DELETE FROM gaps WHERE (host, process) IN (SELECT host, process FROM removed) AND (host, "
      "process) NOT IN (SELECT host, process FROM windows);"
      "DROP TABLE removed");
}

std::vector<ProcessFacts> find_seed_sharers(sqlite::Database& database) {
  return all_rows(database.prepare(seed_sharers_query("windows")), {},
                  read_process<sqlite::Statement>);
}

std::vector<ClockFacts> find_wrong_clocks(sqlite::Database& database) {
  return all_rows(database.prepare(wrong_clocks_query("windows")), {},
                  read_clock<sqlite::Statement>);
}

std::vector<Location> find_unnamed(sqlite::Database& database) {
  return all_rows(database.prepare("SELECT location_id, kind, build_id, module, address FROM "
                                   "locations WHERE location_id NOT IN (SELECT location_id FROM "
                                   "frames) ORDER BY location_id"),
                  {}, read_location<sqlite::Statement>);
}

}  // namespace geiger::fleet
