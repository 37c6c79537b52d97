// The questions that both dialects of SQL ask in the same words, and how their answers are read.
//
// `windows` and `gaps` follow FROM: relations with the columns of the tables of
// these names, times in seconds, with each row once.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "fleet/store/store.h"

namespace geiger::fleet {

/// What is written differently.
struct Dialect {
  std::function<std::string(const std::string&)> text;   ///< A value.
  std::function<std::string(const std::string&)> label;  ///< The value of a label of a window.
  /// Some; a database may have them with a sign.
  std::function<std::string(const std::vector<std::uint64_t>&)> numbers;
  std::string started = "started";  ///< As a number.
};

/// How a dialect adds up time that several windows may share: the length of the union of intervals
/// that begin at `began` and last for one of two columns.
struct Union {
  /// Columns beside those of windows, in parts that begin alike in these expressions.
  std::function<std::string(const std::string& parts)> columns;
  std::function<std::string(const std::string& length)> covered;  ///< Of the rows of a group.
};

/// A condition on windows.
[[nodiscard]] std::string condition_of(const Filter& filter, const Dialect& dialect);

/// The start of the step that a window is in.
[[nodiscard]] std::string step_of(std::int64_t length);

[[nodiscard]] std::string hosts_query(const std::string& windows, const Union& time);
[[nodiscard]] std::string steps_query(const std::string& windows, std::int64_t length,
                                      const Union& time);
/// What the exact totals of each part, an expression, leave open: at most how many bytes more there
/// are, and how many of them may be of earlier windows. Windows of a process that follow each other
/// have all but what the last one had not settled.
[[nodiscard]] std::string open_totals_query(const std::string& windows, const std::string& part);
[[nodiscard]] std::string versions_query(const std::string& windows);
inline constexpr const char* kServicesQuery =
    "SELECT DISTINCT service FROM windows ORDER BY service";
[[nodiscard]] std::string label_values_query(const std::string& windows, const std::string& label);
/// `windows` are those of `filter` at any time.
[[nodiscard]] std::string gaps_query(const std::string& gaps, const std::string& windows,
                                     const Filter& filter);

[[nodiscard]] std::string processes_query(const std::string& windows);
/// Of processes that drew with the seed of another one.
[[nodiscard]] std::string seed_sharers_query(const std::string& windows);
[[nodiscard]] std::string wrong_clocks_query(const std::string& windows);

/// Seconds of the day at which hours begin, and what was recorded in these.
[[nodiscard]] std::string hours_of_day_query(const std::string& windows, const Union& time);
/// How many processes of these relations drew with the seed of another one.
[[nodiscard]] std::string shared_seeds_query(const std::vector<std::string>& windows);
/// How many gaps there are that lost something and ended at `from` (Unix seconds) or later.
[[nodiscard]] std::string lost_gaps_query(const std::string& gaps, std::int64_t from);

/// Of a filter, what gaps belong to: without times.
[[nodiscard]] Filter at_any_time(Filter filter);

/// Reads the columns that all sums of windows have, from `column` on.
template <typename Row>
HostSums read_sums(const Row& row, int column) {
  HostSums sums;
  sums.executable = row.text(column++);
  sums.windows = row.number(column++);
  sums.recorded_ms = row.number(column++);
  sums.alive_ms = row.number(column++);
  sums.without_total = row.number(column++);
  sums.exact_bytes = row.number(column++);
  sums.interval = row.number(column++);
  sums.thinning = static_cast<std::uint32_t>(row.number(column++));
  sums.dropped = row.number(column++);
  sums.rss_byte_seconds = row.number(column++);
  sums.has_pure = row.integer(column++) != 0;
  sums.is_from_start = row.integer(column) != 0;
  return sums;
}

/// What open_totals_query() says of a part.
struct OpenTotals {
  std::string part;
  std::int64_t more = 0, before = 0;
};

template <typename Row>
OpenTotals read_open(const Row& row) {
  return {row.text(0), row.integer(1), row.integer(2)};
}

/// The exact bytes become those that were allocated in the windows for certain.
void settle(HostSums& sums, const std::string& part, const std::vector<OpenTotals>& open);

template <typename Row>
HostSums read_host(const Row& row) {
  HostSums sums = read_sums(row, 1);
  sums.host = row.text(0);
  return sums;
}

template <typename Row>
ProcessFacts read_process(const Row& row) {
  return {row.text(0),   row.text(1),   row.text(2),    row.number(3),
          row.number(4), row.number(5), row.integer(6), row.integer(7)};
}

template <typename Row>
ClockFacts read_clock(const Row& row) {
  return {row.text(0), row.integer(1), row.integer(2)};
}

template <typename Row>
void read_hour(const Row& row, HoursOfDay& hours) {
  hours.at(row.number(0) / 3600) = row.number(1);
}

template <typename Row>
StepSums read_step(const Row& row) {
  StepSums step;
  step.started = row.integer(0);
  step.hosts = row.number(1);
  step.recorded_hosts = row.number(2);
  step.sums = read_sums(row, 4);
  step.alive_ms = step.sums.alive_ms;
  step.recorded_ms = step.sums.recorded_ms;
  step.sums.recorded_ms = row.number(3);
  return step;
}

template <typename Row>
VersionFacts read_version(const Row& row) {
  return {row.text(0),    row.text(1),    row.number(2), row.number(3), row.number(4),
          row.integer(5), row.integer(6), row.number(7), row.text(8)};
}

/// Cut to the time of the filter.
template <typename Row>
GapRow read_gap(const Row& row, const Filter& filter) {
  GapRow gap{row.text(0), row.number(1), row.integer(2), row.integer(3), row.text(4)};
  if (filter.from) gap.first = std::max(gap.first, *filter.from);
  if (filter.to) gap.last = std::min(gap.last, *filter.to);
  return gap;
}

/// location_id, kind, build_id, module, address.
template <typename Row>
Location read_location(const Row& row) {
  Location location;
  location.id = row.number(0);
  location.kind = static_cast<profile::ModuleKind>(row.integer(1));
  location.build_id = row.text(2);
  location.module = row.text(3);
  location.address = row.number(4);
  return location;
}

/// stack_id, size, step, thinning, certain, allocated, live_ms: from column 1 on.
template <typename Row>
SummedRow read_counts(const Row& row) {
  SummedRow sums;
  sums.stack = row.number(1);
  sums.size = row.number(2);
  sums.interval = row.number(3);
  sums.thinning = static_cast<std::uint32_t>(row.number(4));
  sums.is_certain = row.integer(5) != 0;
  sums.allocated = row.number(6);
  sums.live_ms = row.number(7);
  return sums;
}

}  // namespace geiger::fleet
