#include "fleet/store/sum_queries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace geiger::fleet {
namespace {

/// The windows of each host in each part of the time, an expression. Of processes that ran side by
/// side the time counts once, and that of processes that ran one after another is added.
std::string of_hosts(const std::string& windows, const std::string& part, const Union& time) {
  return fmt::format(
      "(SELECT host, part, MAX(executable) AS executable, COUNT(*) AS windows, {} AS recorded, {} "
      "AS alive, SUM(exact_bytes IS NULL AND recorded_ms > 0) AS without, "
      "COALESCE(SUM(exact_bytes), 0) AS exact, MAX(step) AS step, MAX(thinning) AS thinning, "
      "SUM(dropped) AS dropped, SUM(rss_byte_seconds) AS rss, "
      "MAX(is_pure) AS pure, MIN(from_start) AS from_start FROM (SELECT *, {} AS part{} FROM {}) "
      "GROUP BY host, part)",
      time.covered("recorded_ms"), time.covered("alive_ms"), part, time.columns("host, " + part),
      windows);
}

/// The columns of of_hosts() after the first two, of several of its rows.
std::string added() {
  constexpr std::array<std::pair<const char*, const char*>, 12> kColumns{{{"MAX", "executable"},
                                                                          {"SUM", "windows"},
                                                                          {"SUM", "recorded"},
                                                                          {"SUM", "alive"},
                                                                          {"SUM", "without"},
                                                                          {"SUM", "exact"},
                                                                          {"MAX", "step"},
                                                                          {"MAX", "thinning"},
                                                                          {"SUM", "dropped"},
                                                                          {"SUM", "rss"},
                                                                          {"MAX", "pure"},
                                                                          {"MIN", "from_start"}}};
  std::string text;
  for (const auto& [function, name] : kColumns) {
    text += fmt::format("{}{}({})", text.empty() ? "" : ", ", function, name);
  }
  return text;
}

std::string hour_of_day_is(const std::bitset<24>& hours, const std::string& started) {
  std::vector<std::size_t> seconds;
  for (std::size_t hour = 0; hour < hours.size(); ++hour) {
    if (hours[hour]) seconds.push_back(hour * 3600);
  }
  // IN takes no empty list.
  if (seconds.empty()) return "1 = 0";
  return fmt::format("{0} % 86400 - {0} % 3600 IN ({1})", started, fmt::join(seconds, ", "));
}

}  // namespace

std::string condition_of(const Filter& filter, const Dialect& dialect) {
  std::string text = "service = " + dialect.text(filter.service);
  if (filter.version) text += " AND version = " + dialect.text(*filter.version);
  if (filter.host) text += " AND host = " + dialect.text(*filter.host);
  for (const auto& [name, value] : filter.labels) {
    const std::string label = dialect.label(name);
    text += fmt::format(" AND {} = {}", label, dialect.text(value));
  }
  if (filter.hours_of_day) text += " AND " + hour_of_day_is(*filter.hours_of_day, dialect.started);
  if (!filter.seeds.empty())
    text += fmt::format(" AND seed IN ({})", dialect.numbers(filter.seeds));
  if (filter.with_rss) text += " AND rss_byte_seconds > 0 AND recorded_ms > 0";
  if (filter.from) text += fmt::format(" AND started >= {}", *filter.from);
  if (filter.to) text += fmt::format(" AND started < {}", *filter.to);
  return text;
}

std::string step_of(std::int64_t length) { return fmt::format("started - started % {}", length); }

std::string hosts_query(const std::string& windows, const Union& time) {
  return fmt::format("SELECT host, {} FROM {} GROUP BY host ORDER BY host", added(),
                     of_hosts(windows, "0", time));
}

std::string steps_query(const std::string& windows, std::int64_t length, const Union& time) {
  return fmt::format(
      "SELECT part, COUNT(*), SUM(recorded > 0), MAX(recorded), {} FROM {} GROUP BY part ORDER BY "
      "part",
      added(), of_hosts(windows, step_of(length), time));
}

std::string open_totals_query(const std::string& windows, const std::string& part) {
  return fmt::format(
      "SELECT part, SUM(open), SUM(before) FROM (SELECT part, before, unsettled - settled + before "
      "AS open FROM (SELECT {} AS part, SUM(unsettled_bytes) AS unsettled, SUM(unsettled_before) "
      "AS settled, CASE WHEN COUNT(*) <> MAX(sequence) - MIN(sequence) + 1 THEN "
      "SUM(unsettled_before) WHEN MIN(sequence) > 0 THEN MAX(unsettled_before) ELSE 0 END AS "
      "before FROM {} GROUP BY part, version, host, process)) GROUP BY part",
      part, windows);
}

void settle(HostSums& sums, const std::string& part, const std::vector<OpenTotals>& open) {
  const auto own = std::ranges::find(open, part, &OpenTotals::part);
  if (own == open.end()) return;
  const Bytes before = std::min<Bytes>(std::max<std::int64_t>(own->before, 0), sums.exact_bytes);
  sums.exact_bytes -= before;
  sums.unsettled_bytes = static_cast<Bytes>(std::max<std::int64_t>(own->more, 0)) + before;
}

std::string versions_query(const std::string& windows) {
  return "SELECT service, version, COUNT(DISTINCT host), COUNT(DISTINCT process), COUNT(*), "
         "MIN(started), MAX(started), SUM(samples), MAX(executable) FROM " +
         windows + " GROUP BY service, version ORDER BY service, MIN(started), version";
}

std::string processes_query(const std::string& windows) {
  return "SELECT service, version, host, process, COUNT(*), SUM(samples), MIN(started), "
         "MAX(started) FROM " +
         windows +
         " GROUP BY service, version, host, process ORDER BY service, version, host, process";
}

std::string seed_sharers_query(const std::string& windows) {
  const std::string drawn = windows + " WHERE recorded_ms > 0";
  return processes_query(fmt::format(
      "(SELECT * FROM {0} AND (service, seed) IN (SELECT service, seed FROM (SELECT DISTINCT "
      "service, seed, version, process FROM {0}) GROUP BY service, seed HAVING COUNT(*) > 1))",
      drawn));
}

std::string wrong_clocks_query(const std::string& windows) {
  return "SELECT host, MAX(CASE WHEN skew_ms < 0 THEN -skew_ms ELSE skew_ms END) / 1000, "
         "MAX(started - received) FROM " +
         windows +
         " GROUP BY host HAVING MAX(skew_ms) >= 3600000 OR MIN(skew_ms) <= -3600000 OR MAX(started "
         "- received) >= 3600 ORDER BY host";
}

std::string label_values_query(const std::string& windows, const std::string& label) {
  return fmt::format("SELECT DISTINCT {} AS value FROM {} ORDER BY value", label, windows);
}

std::string gaps_query(const std::string& gaps, const std::string& windows, const Filter& filter) {
  std::string text = fmt::format(
      "SELECT host, process, first, last, reason FROM {} WHERE (host, process) IN (SELECT host, "
      "process FROM {})",
      gaps, windows);
  if (filter.from) text += fmt::format(" AND last > {}", *filter.from);
  if (filter.to) text += fmt::format(" AND first < {}", *filter.to);
  if (filter.hours_of_day) text += " AND " + hour_of_day_is(*filter.hours_of_day, "first");
  return text + " ORDER BY host, first";
}

std::string hours_of_day_query(const std::string& windows, const Union& time) {
  return fmt::format("SELECT part, SUM(recorded) FROM {} GROUP BY part",
                     of_hosts(windows, "started % 86400 - started % 3600", time));
}

std::string shared_seeds_query(const std::vector<std::string>& windows) {
  std::string processes;
  for (const std::string& part : windows) {
    processes += fmt::format(
        "{}SELECT service, seed, MAX(recorded_ms) AS longest FROM {} GROUP BY service, seed, "
        "version, process HAVING longest > 0",
        processes.empty() ? "" : " UNION ALL ", part);
  }
  return fmt::format(
      "SELECT COALESCE(SUM(n - 1), 0) FROM (SELECT COUNT(*) AS n FROM ({}) GROUP BY service, seed "
      "HAVING n > 1)",
      processes);
}

std::string lost_gaps_query(const std::string& gaps, std::int64_t from) {
  return fmt::format("SELECT COUNT(*) FROM {} WHERE reason NOT IN ('{}', '{}') AND last >= {}",
                     gaps, kKilled, kOutOfMemory, from);
}

Filter at_any_time(Filter filter) {
  filter.from.reset();
  filter.to.reset();
  filter.hours_of_day.reset();
  filter.with_rss = false;
  return filter;
}

}  // namespace geiger::fleet
