#include "fleet/store/sqlite_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace geiger::fleet {
namespace {

/// A condition on `windows`, and its parameters.
struct Condition {
  std::string text;
  std::vector<std::string> texts;
  std::vector<std::int64_t> numbers;
};

/// The value of a label of a window; '' where it has none. `name` is an expression of SQL.
std::string label_of_window(const std::string& name) {
  return "COALESCE((SELECT value FROM window_labels AS l WHERE l.window_id = windows.window_id "
         "AND l.name = " +
         name + "), '')";
}

Condition condition_of(const Filter& filter) {
  Condition condition{"service = ?", {filter.service}, {}};
  const auto add = [&](const char* clause, const std::optional<std::string>& text) {
    if (!text) return;
    condition.text += clause;
    condition.texts.push_back(*text);
  };
  add(" AND version = ?", filter.version);
  add(" AND host = ?", filter.host);
  for (const auto& [name, value] : filter.labels) {
    condition.text += " AND " + label_of_window("?") + " = ?";
    condition.texts.insert(condition.texts.end(), {name, value});
  }
  if (filter.with_rss) condition.text += " AND rss_byte_seconds > 0 AND recorded_ms > 0";
  const auto add_time = [&](const char* clause, const std::optional<std::int64_t>& time) {
    if (!time) return;
    condition.text += clause;
    condition.numbers.push_back(*time);
  };
  add_time(" AND started >= ?", filter.from);
  add_time(" AND started < ?", filter.to);
  return condition;
}

void bind(sqlite::Statement& statement, const Condition& condition) {
  for (const std::string& text : condition.texts) statement.bind(text);
  for (const std::int64_t number : condition.numbers) statement.bind(number);
}

/// The windows of each host in each step of the grid. Processes that ran side by side share the
/// time of their window.
std::string of_hosts_and_grid(const Condition& condition) {
  return "(SELECT host, started, MAX(executable) AS executable, COUNT(*) AS windows, "
         "MAX(recorded_ms) AS recorded, MAX(alive_ms) AS alive, "
         "SUM(exact_bytes IS NULL AND recorded_ms > 0) AS without, SUM(exact_bytes) AS exact, "
         "SUM(unsettled_bytes) AS unsettled, MAX(step) AS step, MAX(thinning) AS thinning, "
         "SUM(dropped) AS dropped, SUM(rss_byte_seconds) AS rss, MAX(is_pure) AS pure, "
         "MIN(from_start) AS from_start FROM windows WHERE " +
         condition.text + " GROUP BY host, started)";
}

/// The columns of of_hosts_and_grid() behind the first two, of several of its rows.
constexpr const char* kAdded =
    "MAX(executable) AS executable, SUM(windows) AS windows, SUM(recorded) AS recorded, "
    "SUM(alive) AS alive, SUM(without) AS without, SUM(exact) AS exact, "
    "SUM(unsettled) AS unsettled, MAX(step) AS step, MAX(thinning) AS thinning, "
    "SUM(dropped) AS dropped, SUM(rss) AS rss, MAX(pure) AS pure, MIN(from_start) AS from_start";

/// Reads kAdded.
HostSums read_added(const sqlite::Statement& query, int column) {
  HostSums sums;
  sums.executable = query.text(column++);
  sums.windows = query.number(column++);
  sums.recorded_ms = query.number(column++);
  sums.alive_ms = query.number(column++);
  sums.without_total = query.number(column++);
  sums.exact_bytes = query.number(column++);
  sums.unsettled_bytes = query.number(column++);
  sums.interval = query.number(column++);
  sums.thinning = static_cast<std::uint32_t>(query.number(column++));
  sums.dropped = query.number(column++);
  sums.rss_byte_seconds = query.number(column++);
  sums.has_pure = query.integer(column++) != 0;
  sums.is_from_start = query.integer(column) != 0;
  return sums;
}

/// The start of the step that a window is in.
std::string step_of(std::int64_t length) { return fmt::format("started - started % {}", length); }

/// Adds up the counts of each value of `group`, an expression, and hands them to take(query, row)
/// in order of it; all together if it is empty.
template <typename Take>
void sum_counts(sqlite::Database& database, const Filter& filter, const std::string& group,
                const Take& take) {
  const Condition condition = condition_of(filter);
  const bool is_grouped = !group.empty();
  sqlite::Statement query = database.prepare(fmt::format(
      "SELECT part, stack_id, size, step, thinning, certain, allocated, live_ms FROM (SELECT "
      "{} AS part, cell_id, SUM(allocated) AS allocated, SUM(live * recorded_ms) AS live_ms "
      "FROM windows JOIN window_counts USING (window_id) WHERE {} GROUP BY {}cell_id) "
      "JOIN cells USING (cell_id){}",
      is_grouped ? group : "''", condition.text, is_grouped ? "part, " : "",
      is_grouped ? " ORDER BY part" : ""));
  bind(query, condition);
  SummedRow row;
  while (query.next()) {
    row.stack = query.number(1);
    row.size = query.number(2);
    row.interval = query.number(3);
    row.thinning = static_cast<std::uint32_t>(query.number(4));
    row.is_certain = query.integer(5) != 0;
    row.allocated = query.number(6);
    row.live_ms = query.number(7);
    take(query, row);
  }
}

}  // namespace

std::vector<HostSums> sum_hosts(sqlite::Database& database, const Filter& filter) {
  const Condition condition = condition_of(filter);
  sqlite::Statement query = database.prepare(fmt::format(
      "SELECT host, {} FROM {} GROUP BY host ORDER BY host", kAdded, of_hosts_and_grid(condition)));
  bind(query, condition);
  std::vector<HostSums> all;
  while (query.next()) {
    all.push_back(read_added(query, 1));
    all.back().host = query.text(0);
  }
  return all;
}

std::vector<StepSums> sum_steps(sqlite::Database& database, const Filter& filter,
                                std::int64_t length) {
  const Condition condition = condition_of(filter);
  sqlite::Statement query =
      database.prepare(fmt::format("SELECT part, COUNT(*), SUM(recorded > 0), MAX(recorded), {0} "
                                   "FROM (SELECT host, {1} AS part, "
                                   "{0} FROM {2} GROUP BY part, host) GROUP BY part ORDER BY part",
                                   kAdded, step_of(length), of_hosts_and_grid(condition)));
  bind(query, condition);
  std::vector<StepSums> all;
  while (query.next()) {
    StepSums& step = all.emplace_back();
    step.started = query.integer(0);
    step.hosts = query.number(1);
    step.recorded_hosts = query.number(2);
    step.sums = read_added(query, 4);
    step.alive_ms = step.sums.alive_ms;
    step.recorded_ms = step.sums.recorded_ms;
    step.sums.recorded_ms = query.number(3);
  }
  return all;
}

void sum_rows_by_host(sqlite::Database& database, const Filter& filter,
                      const Store::TakeRow& take) {
  sum_counts(database, filter, "host", [&](const sqlite::Statement& query, const SummedRow& row) {
    take(query.text(0), row);
  });
}

void sum_rows(sqlite::Database& database, const Filter& filter, const Store::TakeRow& take) {
  sum_counts(database, filter, "",
             [&](const sqlite::Statement& /*query*/, const SummedRow& row) { take("", row); });
}

void sum_rows_by_time(sqlite::Database& database, const Filter& filter, std::int64_t length,
                      const Store::TakeTimedRow& take) {
  sum_counts(
      database, filter, step_of(length),
      [&](const sqlite::Statement& query, const SummedRow& row) { take(query.integer(0), row); });
}

std::vector<GapRow> find_gaps(sqlite::Database& database, const Filter& filter) {
  Filter at_any_time = filter;
  at_any_time.from.reset();
  at_any_time.to.reset();
  at_any_time.with_rss = false;
  const Condition condition = condition_of(at_any_time);
  std::string text =
      "SELECT g.host, g.process, g.first, g.last, g.reason FROM gaps AS g WHERE EXISTS (SELECT 1 "
      "FROM windows WHERE " +
      condition.text + " AND windows.host = g.host AND windows.process = g.process)";
  if (filter.from) text += fmt::format(" AND g.last > {}", *filter.from);
  if (filter.to) text += fmt::format(" AND g.first < {}", *filter.to);
  sqlite::Statement query = database.prepare(text + " ORDER BY g.host, g.first");
  bind(query, condition);
  std::vector<GapRow> all;
  while (query.next()) {
    GapRow& gap = all.emplace_back();
    gap = {query.text(0), query.number(1), query.integer(2), query.integer(3), query.text(4)};
    if (filter.from) gap.first = std::max(gap.first, *filter.from);
    if (filter.to) gap.last = std::min(gap.last, *filter.to);
  }
  return all;
}

std::vector<std::string> find_label_values(sqlite::Database& database, const Filter& filter,
                                           const std::string& name) {
  const Condition condition = condition_of(filter);
  sqlite::Statement query =
      database.prepare("SELECT DISTINCT " + label_of_window("?") + " AS value FROM windows WHERE " +
                       condition.text + " ORDER BY value");
  query.bind(name);
  bind(query, condition);
  std::vector<std::string> values;
  while (query.next()) values.push_back(query.text(0));
  return values;
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
