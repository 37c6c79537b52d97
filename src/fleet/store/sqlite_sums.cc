#include "fleet/store/sqlite_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/numbers.h"
#include "fleet/store/sum_queries.h"

namespace geiger::fleet {
namespace {

/// A condition on `windows`, and its parameters.
struct Condition {
  std::string text;
  std::vector<std::string> values;

  [[nodiscard]] std::string windows() const { return "windows WHERE " + text; }
};

/// The value of a label of a window; '' where it has none. `name` is an expression of SQL.
std::string label_of_window(const std::string& name) {
  return "COALESCE((SELECT value FROM window_labels AS l WHERE l.window_id = windows.window_id "
         "AND l.name = " +
         name + "), '')";
}

Condition condition_of(const Filter& filter) {
  Condition condition;
  const auto parameter = [&](const std::string& value) {
    condition.values.push_back(value);
    return std::string("?");
  };
  condition.text = condition_of(filter, {parameter, [&](const std::string& name) {
                                           return label_of_window(parameter(name));
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

struct CellSums {
  std::uint64_t allocated = 0, live_ms = 0;
};

/// The rows of `cells`, each read once: hosts have most of them in common.
class Cells {
 public:
  explicit Cells(sqlite::Database& database)
      : query_(database.prepare("SELECT '', stack_id, size, step, thinning, certain, 0, 0 FROM "
                                "cells WHERE cell_id = ?")) {}

  /// The row of a cell, with counts of 0; null if the file has no such cell.
  const SummedRow* find(std::int64_t id) {
    const auto [place, is_new] = known_.try_emplace(id);
    if (is_new && query_.reset().bind(id).next()) place->second = read_counts(query_);
    return place->second ? &*place->second : nullptr;
  }

 private:
  sqlite::Statement query_;
  std::unordered_map<std::int64_t, std::optional<SummedRow>> known_;
};

/// Adds up the counts of each value of `group`, an expression, and hands them to take(value, row)
/// in order of it. Added up here and not by GROUP BY, which sorts all rows: that took three times
/// as long. The query of the windows stays open, so all queries read the same state of the file.
template <typename Take>
void sum_counts(sqlite::Database& database, const Filter& filter, const std::string& group,
                const Take& take) {
  const Condition condition = condition_of(filter);
  sqlite::Statement windows = database.prepare(
      fmt::format("SELECT {} AS part, window_id, recorded_ms FROM {} ORDER BY part, window_id",
                  group, condition.windows()));
  sqlite::Statement counts =
      database.prepare("SELECT cell_id, allocated, live FROM window_counts WHERE window_id = ?");
  Cells cells(database);
  std::unordered_map<std::int64_t, CellSums> sums;
  const auto hand_over = [&](const std::string& part) {
    std::vector<std::pair<std::int64_t, CellSums>> sorted(sums.begin(), sums.end());
    std::ranges::sort(sorted, {}, [](const auto& each) { return each.first; });
    for (const auto& [id, sum] : sorted) {
      const SummedRow* const cell = cells.find(id);
      if (cell == nullptr) continue;
      SummedRow row = *cell;
      row.allocated = sum.allocated;
      row.live_ms = sum.live_ms;
      take(part, row);
    }
    sums.clear();
  };
  bind(windows, condition);
  std::string part;
  while (windows.next()) {
    if (std::string next = windows.text(0); next != part) {
      hand_over(part);
      part = std::move(next);
    }
    const std::uint64_t recorded_ms = windows.number(2);
    counts.reset().bind(windows.integer(1));
    while (counts.next()) {
      CellSums& sum = sums[counts.integer(0)];
      sum.allocated += counts.number(1);
      sum.live_ms += counts.number(2) * recorded_ms;
    }
  }
  hand_over(part);
}

}  // namespace

std::vector<HostSums> sum_hosts(sqlite::Database& database, const Filter& filter) {
  const Condition condition = condition_of(filter);
  return all_rows(database.prepare(hosts_query(condition.windows())), condition,
                  read_host<sqlite::Statement>);
}

std::vector<StepSums> sum_steps(sqlite::Database& database, const Filter& filter,
                                std::int64_t length) {
  const Condition condition = condition_of(filter);
  return all_rows(database.prepare(steps_query(condition.windows(), length)), condition,
                  read_step<sqlite::Statement>);
}

HoursOfDay sum_hours_of_day(sqlite::Database& database, const Filter& filter) {
  const Condition condition = condition_of(filter);
  sqlite::Statement query = database.prepare(hours_of_day_query(condition.windows()));
  bind(query, condition);
  HoursOfDay hours{};
  while (query.next()) read_hour(query, hours);
  return hours;
}

std::uint64_t count_shared_seeds(sqlite::Database& database, const std::vector<Filter>& parts) {
  std::vector<Condition> conditions;
  std::vector<std::string> windows;
  for (const Filter& part : parts) {
    windows.push_back(conditions.emplace_back(condition_of(part)).windows());
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

void sum_rows_by_time(sqlite::Database& database, const Filter& filter, std::int64_t length,
                      const Store::TakeTimedRow& take) {
  sum_counts(database, filter, step_of(length), [&](const std::string& part, const SummedRow& row) {
    take(base::number_in<std::int64_t>(part).value_or(0), row);
  });
}

std::vector<GapRow> find_gaps(sqlite::Database& database, const Filter& filter) {
  const Condition condition = condition_of(at_any_time(filter));
  return all_rows(database.prepare(gaps_query("gaps", condition.windows(), filter)), condition,
                  [&](const sqlite::Statement& row) { return read_gap(row, filter); });
}

std::vector<std::string> find_label_values(sqlite::Database& database, const Filter& filter,
                                           const std::string& name) {
  Condition condition = condition_of(filter);
  const std::string query = label_values_query(condition.windows(), label_of_window("?"));
  condition.values.insert(condition.values.begin(), name);
  return all_rows(database.prepare(query), condition,
                  [](const sqlite::Statement& row) { return row.text(0); });
}

std::vector<Location> find_unnamed(sqlite::Database& database) {
  sqlite::Statement query = database.prepare(
      "SELECT location_id, kind, build_id, module, address FROM locations WHERE location_id NOT IN "
      "(SELECT location_id FROM frames) ORDER BY location_id");
  std::vector<Location> all;
  while (query.next()) {
    Location& location = all.emplace_back();
    location.id = query.number(0);
    location.kind = static_cast<profile::ModuleKind>(query.integer(1));
    location.build_id = query.text(2);
    location.module = query.text(3);
    location.address = query.number(4);
  }
  return all;
}

}  // namespace geiger::fleet
