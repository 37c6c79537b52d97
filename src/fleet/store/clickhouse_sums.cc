// Parts of the queries on ClickHouse's tables.
#include "fleet/store/clickhouse_sums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "fleet/store/sum_queries.h"

namespace geiger::fleet {

inline constexpr std::int64_t kDay = 86'400;
/// The day that a window or row begins in, since 1970.
inline constexpr const char* kDayOfStart = "intDiv(toUInt32(started), 86400)";
inline constexpr const char* kWindowKey = "version, host, process, started";
/// The columns in which samples are alike.
inline constexpr const char* kCell = "stack_id, size, step, thinning, certain";
inline constexpr const char* kCellOfAnyStack = "size, step, thinning, certain";

[[nodiscard]] std::string clause_of_time(std::int64_t from, std::int64_t to);

/// A relation with each window once, with its time as a number.
[[nodiscard]] std::string windows_where(const std::string& condition);

/// A query for the keys of windows all of whose rows are there.
[[nodiscard]] std::string complete_windows(const std::string& condition);

std::string clause_of_time(std::int64_t from, std::int64_t to) {
  return fmt::format("started >= {} AND started < {}", from, to);
}

std::string windows_where(const std::string& condition) {
  return fmt::format(
      "(SELECT *, toInt64(begin) AS started, toInt64(got) AS received FROM (SELECT service, "
      "version, host, process, started AS begin, received AS got, began_ms, executable, "
      "recorded_ms, "
      "alive_ms, exact_bytes, unsettled_bytes, unsettled_before, sequence, skew_ms, step, "
      "thinning, "
      "seed, dropped, rss_byte_seconds, is_pure, from_start, samples, label_names, label_values "
      "FROM windows FINAL WHERE {}))",
      condition);
}

std::string complete_windows(const std::string& condition) {
  return fmt::format(
      "SELECT {0} FROM (SELECT {0}, row_count, samples FROM windows FINAL WHERE {1}) AS said ALL "
      "LEFT JOIN "
      "(SELECT {0}, COUNT(*) AS n, SUM(allocated) AS a FROM counts FINAL WHERE {1} GROUP BY {0}) "
      "AS there "
      "USING ({0}) WHERE row_count = n AND samples = a",
      kWindowKey, condition);
}

namespace {

std::string label_of_row(const std::string& name) {
  return fmt::format("label_values[indexOf(label_names, {})]", quoted(name));
}

/// The time between beginnings and ends, in order, at which more windows have begun than ended. Old
/// servers have no window functions.
const Union& union_of_clickhouse() {
  static const Union kUnion{
      [](const std::string& /*parts*/) { return std::string(); },
      [](const std::string& length) {
        const std::string events = fmt::format(
            "arraySort(arrayConcat(groupArray((began_ms, 1)), groupArray((began_ms + toInt64({}), "
            "-1))))",
            length);
        return fmt::format(
            "arraySum(arrayMap((depth, length) -> if(depth > 0, length, 0), arrayCumSum(arrayMap(x "
            "-> x.2, {0})), arrayPushBack(arrayPopFront(arrayDifference(arrayMap(x -> x.1, {0}))), "
            "0)))",
            events);
      }};
  return kUnion;
}

std::string clause_of(const Filter& filter) {
  if (filter.service.empty()) return "1";
  return condition_of(filter, {.text = [](const std::string& value) { return quoted(value); },
                               .label = label_of_row,
                               .numbers =
                                   [](const std::vector<std::uint64_t>& numbers) {
                                     return fmt::format("{}", fmt::join(numbers, ", "));
                                   },
                               .started = "toUInt32(started)"});
}

/// What counts have a column for, at any time.
Filter without_labels(const Filter& filter) {
  Filter plain = at_any_time(filter);
  plain.labels.clear();
  return plain;
}

/// Whether it chooses windows by what days do not have.
bool is_narrow(const Filter& filter) {
  return !filter.labels.empty() || filter.hours_of_day || filter.with_rss || !filter.seeds.empty();
}

void add_to(std::map<RowKey, SummedRow>& sums, const SummedRow& row) {
  const auto [at, is_new] =
      sums.try_emplace({row.stack, row.size, row.interval, row.thinning, row.is_certain}, row);
  if (is_new) return;
  at->second.allocated += row.allocated;
  at->second.live_ms += row.live_ms;
}

template <typename Read>
auto all_rows_of(ClickHouseServer& server, const std::string& query, const Read& read) {
  std::vector<decltype(read(std::declval<const TabRow&>()))> all;
  server.ask(query, [&](const TabRow& row) { all.push_back(read(row)); });
  return all;
}

}  // namespace

ClickHouseSums::DayTotals ClickHouseSums::totals(const std::string& query) {
  DayTotals totals;
  server_.ask(query, [&](const TabRow& row) {
    totals[row.integer(0)] = {row.number(1), row.number(2)};
  });
  return totals;
}

const std::vector<ClickHouseSums::Stretch>& ClickHouseSums::stretches(const Filter& filter,
                                                                      May may) {
  Filter asked = without_labels(filter);
  asked.host.reset();
  asked.from = filter.from;
  asked.to = filter.to;
  const bool needs_counts = may == May::kNeedCounts || is_narrow(filter);
  may = needs_counts ? May::kNeedCounts : May::kUseDaily;
  const auto [place, is_new] =
      known_.try_emplace(fmt::format("{} {}", clause_of(asked), needs_counts));
  if (is_new) place->second = find_stretches(asked, may);
  return place->second;
}

std::vector<ClickHouseSums::Stretch> ClickHouseSums::find_stretches(const Filter& filter, May may) {
  const std::string clause = clause_of(filter);
  const auto sums = [&](const char* day, const char* columns, const char* table,
                        const std::string& where) {
    return totals(fmt::format("SELECT {} AS d, {} FROM {} WHERE {} GROUP BY d ORDER BY d", day,
                              columns, table, where));
  };
  constexpr const char* kSaid = "SUM(row_count), SUM(samples)";
  const DayTotals said = sums(kDayOfStart, kSaid, "windows FINAL", clause);
  const DayTotals rolled =
      sums("toUInt16(day)", kSaid, "rolled_up FINAL", clause_of(without_labels(filter)));
  const std::int64_t from = filter.from.value_or(0);
  const std::int64_t to = filter.to.value_or(std::numeric_limits<std::uint32_t>::max());
  const auto is_rolled = [&](std::int64_t day) {
    const auto found = rolled.find(day);
    return found != rolled.end() && found->second == said.at(day) && day * kDay >= from &&
           (day + 1) * kDay <= to;
  };
  std::vector<Stretch> found;
  for (const auto& [day, total] : said) {
    const bool is_daily = may == May::kUseDaily && is_rolled(day);
    found.push_back({is_daily ? Source::kDaily : Source::kCounts, std::max(from, day * kDay),
                     std::min(to, (day + 1) * kDay)});
  }
  const auto is_counted = [](const Stretch& stretch) { return stretch.source == Source::kCounts; };
  const auto first = std::ranges::find_if(found, is_counted);
  if (first == found.end()) return found;
  const bool is_expected = may == May::kUseDaily && expected_.clause == clause;
  const DayTotals there = is_expected
                              ? add_up_expected(filter, first->from)
                              : sums(kDayOfStart, "COUNT(*), SUM(allocated)", "counts",
                                     fmt::format("{} AND started >= {}", clause, first->from));
  DayTotals whole;
  for (Stretch& stretch : found) {
    if (!is_counted(stretch)) continue;
    const std::int64_t day = stretch.from / kDay;
    const auto counted = there.find(day);
    const bool is_gone = counted == there.end() && said.at(day).first > 0 && rolled.contains(day);
    if (is_gone) {
      throw ServerError(
          "days that were rolled up are kept without labels and times: choose later ones with "
          "--from, or whole days");
    }
    const auto has =
        counted == there.end() ? std::pair<std::uint64_t, std::uint64_t>() : counted->second;
    if (has != said.at(day)) {
      stretch.source = Source::kDistinct;
    } else if (counted != there.end()) {
      whole.insert(*counted);
    }
  }
  // Sums over days of another source would count what is twice there, or in no window.
  if (whole != there) expected_.rows.reset();
  return found;
}

bool ClickHouseSums::has_one_service() {
  return server_.number_of("SELECT COUNT(DISTINCT service) FROM windows") == 1;
}

/// The totals of days from `from` on, with the rows beside them.
ClickHouseSums::DayTotals ClickHouseSums::add_up_expected(const Filter& filter, std::int64_t from) {
  std::string condition = fmt::format("started >= {}", from);
  // Comparing texts takes a third of the time. The totals show if that was wrong.
  const bool is_everything = !filter.version && !filter.from && !filter.to && has_one_service();
  if (!is_everything) condition = clause_of(filter) + " AND " + condition;
  DayTotals totals;
  auto& rows = expected_.rows.emplace();
  // A key of more than 32 bytes would take twice as long: a day has two of them.
  server_.ask(fmt::format("SELECT toUInt16({0}) AS d, {1}, SUM(allocated) AS a, SUM(live * "
                          "recorded_ms) AS l, COUNT(*) FROM counts WHERE {2} GROUP BY d, {1}",
                          kDayOfStart, kCell, condition),
              [&](const TabRow& row) {
                const SummedRow sums = read_counts(row);
                auto& [count, samples] = totals[row.integer(0)];
                count += row.number(8);
                samples += sums.allocated;
                add_to(rows, sums);
              });
  return totals;
}

std::string ClickHouseSums::windows_of(const Filter& filter, May may) {
  std::string condition = clause_of(filter);
  const std::string plain = clause_of(without_labels(filter));
  for (const Stretch& stretch : stretches(filter, may)) {
    if (stretch.source != Source::kDistinct) continue;
    const std::string time = clause_of_time(stretch.from, stretch.to);
    condition += fmt::format(" AND (NOT ({}) OR ({}) IN ({}))", time, kWindowKey,
                             complete_windows(plain + " AND " + time));
  }
  return windows_where(condition);
}

std::string ClickHouseSums::counts_in(const Stretch& stretch, const Filter& filter, const By& by) {
  const std::string plain = clause_of(without_labels(filter));
  const std::string cell =
      by.has_stack ? kCell : fmt::format("toUInt64(0) AS stack_id, {}", kCellOfAnyStack);
  const std::string group = by.has_stack ? kCell : kCellOfAnyStack;
  if (stretch.source == Source::kDaily) {
    return fmt::format(
        "SELECT {0} AS part, {1}, SUM(allocated) AS a, SUM(live_ms) AS l FROM daily WHERE {2} AND "
        "day >= toDate({3}) AND day < toDate({4}) GROUP BY part, {5}",
        by.part_of_day, cell, plain, stretch.from / kDay, (stretch.to + kDay - 1) / kDay, group);
  }
  const std::string time = clause_of_time(stretch.from, stretch.to);
  std::string condition = plain + " AND " + time;
  const bool is_distinct = stretch.source == Source::kDistinct;
  const std::string all = condition;
  if (is_distinct) {
    condition += fmt::format(" AND ({}) IN ({})", kWindowKey, complete_windows(all));
  }
  if (is_narrow(filter)) {
    condition += fmt::format(" AND ({0}) IN (SELECT {0} FROM windows FINAL WHERE {1} AND {2})",
                             kWindowKey, clause_of(filter), time);
  }
  return fmt::format(
      "SELECT {0} AS part, {1}, SUM(allocated) AS a, SUM(live * recorded_ms) AS l FROM counts{2} "
      "WHERE {3} GROUP BY part, {4}",
      by.part, cell, is_distinct ? " FINAL" : "", condition, group);
}

void ClickHouseSums::sum_counts(const std::vector<Stretch>& stretches, const Filter& filter,
                                const By& by, const TabRows::Take& take) {
  // Days of one source that follow each other are one stretch. Between others there may be counts
  // without windows.
  std::vector<Stretch> merged;
  for (const Stretch& stretch : stretches) {
    const bool goes_on = !merged.empty() && merged.back().source == stretch.source &&
                         merged.back().to == stretch.from;
    if (goes_on) {
      merged.back().to = stretch.to;
    } else {
      merged.push_back(stretch);
    }
  }
  if (merged.empty()) return;
  std::string all;
  for (const Stretch& stretch : merged) {
    all += all.empty() ? "" : " UNION ALL ";
    all += counts_in(stretch, filter, by);
  }
  // What comes of one stretch is added up already.
  if (merged.size() > 1) {
    all = fmt::format("SELECT part, {0}, SUM(a), SUM(l) FROM ({1}) GROUP BY part, {0}", kCell, all);
  }
  server_.ask(all + " ORDER BY part", take);
}

std::vector<std::string> ClickHouseSums::services() {
  return all_rows_of(server_, kServicesQuery, [](const TabRow& row) { return row.text(0); });
}

std::vector<VersionFacts> ClickHouseSums::versions() {
  return all_rows_of(server_, versions_query(windows_where("1")), read_version<TabRow>);
}

std::vector<HostSums> ClickHouseSums::hosts(const Filter& filter) {
  const std::string windows = windows_of(filter, May::kUseDaily);
  auto hosts = all_rows_of(server_, hosts_query(windows, union_of_clickhouse()), read_host<TabRow>);
  const auto open = all_rows_of(server_, open_totals_query(windows, "host"), read_open<TabRow>);
  for (HostSums& host : hosts) settle(host, host.host, open);
  return hosts;
}

std::vector<StepSums> ClickHouseSums::steps(const Filter& filter, std::int64_t length) {
  const May may = length % kDay == 0 ? May::kUseDaily : May::kNeedCounts;
  const std::string windows = windows_of(filter, may);
  auto steps =
      all_rows_of(server_, steps_query(windows, length, union_of_clickhouse()), read_step<TabRow>);
  const auto open =
      all_rows_of(server_, open_totals_query(windows, step_of(length)), read_open<TabRow>);
  for (StepSums& step : steps) settle(step.sums, std::to_string(step.started), open);
  return steps;
}

HoursOfDay ClickHouseSums::hours_of_day(const Filter& filter) {
  HoursOfDay hours{};
  server_.ask(hours_of_day_query(windows_of(filter, May::kUseDaily), union_of_clickhouse()),
              [&](const TabRow& row) { read_hour(row, hours); });
  return hours;
}

void ClickHouseSums::expect_rows(const Filter& filter) {
  if (!filter.host && !is_narrow(filter)) expected_ = {clause_of(filter), std::nullopt};
}

void ClickHouseSums::rows(const Filter& filter, const Store::TakeRow& take) {
  std::vector<Stretch> asked = stretches(filter, May::kUseDaily);
  const bool is_expected = expected_.clause == clause_of(filter) && expected_.rows;
  auto sums = is_expected ? std::move(*expected_.rows) : std::map<RowKey, SummedRow>();
  if (is_expected) {
    expected_ = {};
    std::erase_if(asked, [](const Stretch& each) { return each.source == Source::kCounts; });
  }
  sum_counts(asked, filter, {"''", "''"},
             [&](const TabRow& row) { add_to(sums, read_counts(row)); });
  for (const auto& [key, row] : sums) take("", row);
}

void ClickHouseSums::rows_and_hosts(const Filter& filter, const Store::TakeRow& take,
                                    const Store::TakeRow& take_host) {
  rows(filter, take);
  sum_counts(stretches(filter, May::kUseDaily), filter, {"host", "host", false},
             [&](const TabRow& row) { take_host(row.text(0), read_counts(row)); });
}

void ClickHouseSums::rows_by_host(const Filter& filter, const Store::TakeRow& take) {
  sum_counts(stretches(filter, May::kUseDaily), filter, {"host", "host"},
             [&](const TabRow& row) { take(row.text(0), read_counts(row)); });
}

void ClickHouseSums::rows_by_time(const Filter& filter, std::int64_t length,
                                  const Store::TakeTimedRow& take) {
  const auto start_of_step = [&](const char* time) {
    return fmt::format("toInt64({0}) - toInt64({0}) % {1}", time, length);
  };
  const May may = length % kDay == 0 ? May::kUseDaily : May::kNeedCounts;
  sum_counts(stretches(filter, may), filter,
             {start_of_step("toUInt32(started)"), start_of_step("toUInt16(day) * 86400")},
             [&](const TabRow& row) { take(row.integer(0), read_counts(row)); });
}

std::vector<GapRow> ClickHouseSums::gaps(const Filter& filter) {
  const std::string gaps =
      "(SELECT host, process, toInt64(f) AS first, toInt64(l) AS last, reason FROM (SELECT host, "
      "process, first AS f, last AS l, reason FROM gaps FINAL))";
  return all_rows_of(server_,
                     gaps_query(gaps, windows_where(clause_of(at_any_time(filter))), filter),
                     [&](const TabRow& row) { return read_gap(row, filter); });
}

std::vector<std::string> ClickHouseSums::label_values(const Filter& filter,
                                                      const std::string& name) {
  return all_rows_of(server_,
                     label_values_query(windows_where(clause_of(filter)), label_of_row(name)),
                     [](const TabRow& row) { return row.text(0); });
}

void ClickHouseSums::versions_of_stacks(const Filter& filter, const Store::TakeVersion& take) {
  const std::string condition = clause_of(without_labels(filter));
  server_.ask(
      fmt::format("SELECT DISTINCT version, stack_id FROM (SELECT DISTINCT version, stack_id "
                  "FROM counts WHERE {0} UNION ALL SELECT DISTINCT version, stack_id FROM "
                  "daily WHERE {0})",
                  condition),
      [&](const TabRow& row) { take(row.number(1), row.text(0)); });
}

std::vector<ProcessFacts> ClickHouseSums::processes(const Filter& filter) {
  return all_rows_of(server_, processes_query(windows_where(clause_of(filter))),
                     read_process<TabRow>);
}

std::vector<ProcessFacts> ClickHouseSums::with_shared_seeds() {
  return all_rows_of(server_, seed_sharers_query(windows_where("1")), read_process<TabRow>);
}

std::vector<ClockFacts> ClickHouseSums::wrong_clocks() {
  return all_rows_of(server_, wrong_clocks_query(windows_where("1")), read_clock<TabRow>);
}

std::uint64_t ClickHouseSums::incomplete_windows() {
  std::uint64_t count = 0;
  for (const Stretch& stretch : stretches({}, May::kUseDaily)) {
    if (stretch.source != Source::kDistinct) continue;
    const std::string time = clause_of_time(stretch.from, stretch.to);
    count += server_.number_of(
        fmt::format("SELECT COUNT(*) FROM windows FINAL WHERE {0} AND ({1}) NOT IN ({2})", time,
                    kWindowKey, complete_windows(time)));
  }
  return count;
}

std::uint64_t ClickHouseSums::shared_seeds(const std::vector<Filter>& parts) {
  std::vector<std::string> windows;
  for (const Filter& part : parts) windows.push_back(windows_where(clause_of(part)));
  return server_.number_of(shared_seeds_query(windows));
}

Health ClickHouseSums::health(std::int64_t from) {
  Health health;
  health.incomplete_windows = incomplete_windows();
  health.shared_seeds = shared_seeds({Filter{}});
  health.unknown_stacks = server_.number_of(
      "SELECT COUNT(DISTINCT stack_id) FROM counts WHERE stack_id NOT IN (SELECT stack_id FROM "
      "stacks)");
  health.ambiguous_stacks = server_.number_of(
      "SELECT COUNT(*) FROM (SELECT stack_id FROM stacks GROUP BY stack_id HAVING "
      "uniqExact(locations) > 1)");
  health.unnamed_locations = server_.number_of(
      "SELECT COUNT(DISTINCT location_id) FROM locations WHERE location_id NOT IN (SELECT "
      "location_id FROM frames)");
  health.gaps = server_.number_of(lost_gaps_query("gaps FINAL", from));
  server_.ask(fmt::format("SELECT reason, SUM(documents) FROM refusals WHERE toUnixTimestamp(at) "
                          ">= {} GROUP BY reason",
                          from),
              [&](const TabRow& row) { health.refusals[row.text(0)] = row.number(1); });
  return health;
}

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

namespace {

/// Rows in one statement: its text stays below the 256 KiB that servers take.
constexpr std::size_t kRemovedAtOnce = 1000;

/// Deletes rows, and waits until that is done: servers do it aside.
void delete_rows(ClickHouseServer& server, const char* table, const std::string& condition) {
  server.execute(fmt::format("ALTER TABLE {} DELETE WHERE {}", table, condition));
  const std::string left = fmt::format(
      "SELECT COUNT(*) FROM system.mutations WHERE database = {} AND table = {} AND "
      "is_done = 0",
      quoted(server.database()), quoted(table));
  constexpr timespec kPause{0, 50'000'000};
  while (server.number_of(left) > 0) nanosleep(&kPause, nullptr);
}

template <typename Rows>
void delete_each(ClickHouseServer& server, const char* table, const std::string& columns,
                 const Rows& rows) {
  for (std::size_t first = 0; first < rows.size(); first += kRemovedAtOnce) {
    const auto end = std::min(rows.size(), first + kRemovedAtOnce);
    delete_rows(server, table,
                fmt::format("({}) IN ({})", columns,
                            fmt::join(rows.begin() + first, rows.begin() + end, ", ")));
  }
}

}  // namespace

void ClickHouseSums::remove(const Filter& filter) {
  std::vector<std::string> windows, processes, days;
  server_.ask(fmt::format("SELECT version, host, process, started FROM {}",
                          windows_where(clause_of(filter))),
              [&](const TabRow& row) {
                windows.push_back(fmt::format("({}, {}, {}, {}, {})", quoted(filter.service),
                                              quoted(row.text(0)), quoted(row.text(1)),
                                              row.number(2), row.integer(3)));
                processes.push_back(fmt::format("({}, {})", quoted(row.text(1)), row.number(2)));
                days.push_back(fmt::format("({}, {}, {})", quoted(filter.service),
                                           quoted(row.text(0)), row.integer(3) / kDay));
              });
  for (auto* each : {&processes, &days}) {
    std::ranges::sort(*each);
    each->erase(std::unique(each->begin(), each->end()), each->end());
  }
  constexpr const char* kWindow = "service, version, host, process, toUInt32(started)";
  constexpr const char* kDayOfVersion = "service, version, toUInt16(day)";
  // Windows last: the same again finds what is left. Days of the version are read window by window
  // until they are added up anew.
  delete_each(server_, "rolled_up", kDayOfVersion, days);
  delete_each(server_, "daily", kDayOfVersion, days);
  delete_each(server_, "counts", kWindow, windows);
  delete_each(server_, "windows", kWindow, windows);
  std::set<std::string> kept;
  server_.ask("SELECT DISTINCT host, process FROM windows", [&](const TabRow& row) {
    kept.insert(fmt::format("({}, {})", quoted(row.text(0)), row.number(1)));
  });
  std::erase_if(processes, [&](const std::string& process) { return kept.contains(process); });
  delete_each(server_, "gaps", "host, process", processes);
  forget();
}

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
