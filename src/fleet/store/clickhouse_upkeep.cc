#include "fleet/store/clickhouse_upkeep.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "fleet/store/clickhouse_windows.h"

namespace geiger::fleet {
namespace {

using Day = std::int64_t;
/// Of each service and version: rows and samples.
using VersionTotals =
    std::map<std::pair<std::string, std::string>, std::pair<std::uint64_t, std::uint64_t>>;

std::string date_of(Day day, ClickHouseServer& server) {
  std::string date;
  server.ask(fmt::format("SELECT toDate({})", day), [&](const TabRow& row) { date = row.text(0); });
  return date;
}

std::map<Day, VersionTotals> totals_of(ClickHouseServer& server, const std::string& day,
                                       const std::string& table, const std::string& where) {
  std::map<Day, VersionTotals> totals;
  server.ask(fmt::format("SELECT {} AS d, service, version, SUM(row_count), SUM(samples) FROM {} "
                         "FINAL WHERE {} GROUP BY d, service, version",
                         day, table, where),
             [&](const TabRow& row) {
               totals[row.integer(0)][{row.text(1), row.text(2)}] = {row.number(3), row.number(4)};
             });
  return totals;
}

std::uint64_t samples_in(const VersionTotals& totals) {
  std::uint64_t samples = 0;
  for (const auto& [version, total] : totals) samples += total.second;
  return samples;
}

/// Days that a table has rows of.
std::set<Day> days_in(ClickHouseServer& server, const char* table) {
  std::set<Day> days;
  server.ask(
      fmt::format("SELECT DISTINCT toUInt16(toDate(partition)) FROM system.parts WHERE active "
                  "AND database = {} AND table = {}",
                  quoted(server.database()), quoted(table)),
      [&](const TabRow& row) { days.insert(row.integer(0)); });
  return days;
}

void drop_day(ClickHouseServer& server, const char* table, Day day) {
  server.execute(fmt::format("ALTER TABLE {} DROP PARTITION '{}'", table, date_of(day, server)));
}

/// Adds up a day beside the others, and puts it in its place if all that its windows say is there.
/// The rows of a window are complete or left out, so the sums can only fall short of that.
bool roll_up(ClickHouseServer& server, Day day, const VersionTotals& said) {
  const std::string time = clause_of_time(day * kDay, (day + 1) * kDay);
  drop_day(server, "daily_new", day);  // Of a roll-up that was cut off.
  server.execute(fmt::format(
      "INSERT INTO daily_new (day, service, version, {0}, host, allocated, live_ms) SELECT "
      "toDate({1}), service, version, {0}, host, SUM(toUInt64(allocated)), SUM(live * recorded_ms) "
      "FROM counts FINAL WHERE {2} AND ({3}) IN ({4}) GROUP BY service, version, {0}, host",
      kCell, day, time, kWindowKey, complete_windows(time)));
  const std::uint64_t samples = server.number_of(
      fmt::format("SELECT SUM(allocated) FROM daily_new WHERE day = toDate({})", day));
  const bool is_whole = samples == samples_in(said);
  if (is_whole) {
    const std::string date = date_of(day, server);
    if (samples > 0) {
      server.execute(fmt::format("ALTER TABLE daily REPLACE PARTITION '{}' FROM daily_new", date));
    }
    std::string rows;
    for (const auto& [version, total] : said) {
      rows += fmt::format("{}('{}', {}, {}, {}, {})", rows.empty() ? "" : ", ", date,
                          quoted(version.first), quoted(version.second), total.first, total.second);
    }
    server.execute("INSERT INTO rolled_up (day, service, version, row_count, samples) VALUES " +
                   rows);
  }
  drop_day(server, "daily_new", day);
  return is_whole;
}

}  // namespace

Upkeep maintain(ClickHouseServer& server, const Retention& retention) {
  Upkeep upkeep;
  const auto said = totals_of(server, kDayOfStart, "windows",
                              fmt::format("started < {}", retention.today * kDay));
  auto rolled = totals_of(server, "toUInt16(day)", "rolled_up", "1");
  const std::set<Day> counted = days_in(server, "counts");
  for (const auto& [day, totals] : said) {
    if (rolled[day] == totals) continue;
    // Without its counts a day stays as it was rolled up.
    if (counted.contains(day) && roll_up(server, day, totals)) {
      rolled[day] = totals;
      ++upkeep.rolled_days;
    } else {
      ++upkeep.short_days;
    }
  }
  for (const Day day : counted) {
    const auto totals = said.find(day);
    const bool is_kept = totals == said.end() || rolled[day] != totals->second;
    if (day >= retention.first_counts || is_kept) continue;
    drop_day(server, "counts", day);
    ++upkeep.dropped_days;
  }
  for (const char* table : {"counts", "daily", "windows"}) {
    for (const Day day : days_in(server, table)) {
      if (day < retention.first_day) drop_day(server, table, day);
    }
  }
  return upkeep;
}

}  // namespace geiger::fleet
