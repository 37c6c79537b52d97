#include "fleet/store/sum_queries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

namespace geiger::fleet {
namespace {

/// The windows of each host in each step of the grid. Processes that ran side by side share the
/// time of their window.
std::string of_hosts_and_grid(const std::string& windows) {
  return "(SELECT host, started, MAX(executable) AS executable, COUNT(*) AS windows, "
         "MAX(recorded_ms) AS recorded, MAX(alive_ms) AS alive, "
         "SUM(exact_bytes IS NULL AND recorded_ms > 0) AS without, "
         "COALESCE(SUM(exact_bytes), 0) AS exact, SUM(unsettled_bytes) AS unsettled, "
         "MAX(step) AS step, MAX(thinning) AS thinning, SUM(dropped) AS dropped, "
         "SUM(rss_byte_seconds) AS rss, MAX(is_pure) AS pure, MIN(from_start) AS from_start FROM " +
         windows + " GROUP BY host, started)";
}

/// The columns of of_hosts_and_grid() after the first two, of several of its rows: as they are
/// read, and with their names once more.
std::string added(bool has_names) {
  constexpr std::array<std::pair<const char*, const char*>, 13> kColumns{{{"MAX", "executable"},
                                                                          {"SUM", "windows"},
                                                                          {"SUM", "recorded"},
                                                                          {"SUM", "alive"},
                                                                          {"SUM", "without"},
                                                                          {"SUM", "exact"},
                                                                          {"SUM", "unsettled"},
                                                                          {"MAX", "step"},
                                                                          {"MAX", "thinning"},
                                                                          {"SUM", "dropped"},
                                                                          {"SUM", "rss"},
                                                                          {"MAX", "pure"},
                                                                          {"MIN", "from_start"}}};
  std::string text;
  for (const auto& [function, name] : kColumns) {
    text += fmt::format("{}{}({})", text.empty() ? "" : ", ", function, name);
    if (has_names) text += fmt::format(" AS {}", name);
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
  if (filter.with_rss) text += " AND rss_byte_seconds > 0 AND recorded_ms > 0";
  if (filter.from) text += fmt::format(" AND started >= {}", *filter.from);
  if (filter.to) text += fmt::format(" AND started < {}", *filter.to);
  return text;
}

std::string step_of(std::int64_t length) { return fmt::format("started - started % {}", length); }

std::string hosts_query(const std::string& windows) {
  return fmt::format("SELECT host, {} FROM {} GROUP BY host ORDER BY host", added(false),
                     of_hosts_and_grid(windows));
}

std::string steps_query(const std::string& windows, std::int64_t length) {
  return fmt::format(
      "SELECT part, COUNT(*), SUM(recorded > 0), MAX(recorded), {} FROM (SELECT host, {} AS part, "
      "{} FROM {} GROUP BY part, host) GROUP BY part ORDER BY part",
      added(false), step_of(length), added(true), of_hosts_and_grid(windows));
}

std::string versions_query(const std::string& windows) {
  return "SELECT service, version, COUNT(DISTINCT host), COUNT(DISTINCT process), COUNT(*), "
         "MIN(started), MAX(started), SUM(samples) FROM " +
         windows + " GROUP BY service, version ORDER BY service, MIN(started), version";
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

std::string hours_of_day_query(const std::string& windows) {
  return fmt::format(
      "SELECT started % 86400 - started % 3600 AS hour, SUM(recorded) FROM {} GROUP BY hour",
      of_hosts_and_grid(windows));
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
