#include "fleet/ask/ask.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/compare/places.h"
#include "analysis/profile/frames/frame_roles.h"
#include "base/check.h"
#include "estimation/counts.h"
#include "fleet/ask/releases.h"

namespace geiger::fleet {

namespace {

/// What the store has instead of the requested part, as an error.
base::Failure nothing_selected(Store& store, const Filter& filter) {
  const auto versions = GEIGER_TRY(store.versions());
  std::vector<std::string> known;
  std::set<std::string> services;
  for (const VersionFacts& facts : versions) {
    services.insert(facts.service);
    if (facts.service == filter.service) known.push_back(facts.version);
  }
  if (known.empty()) {
    return {fmt::format("no service '{}' in the store; it has {}", filter.service,
                        fmt::join(services, ", "))};
  }
  const bool has_version =
      !filter.version || std::ranges::find(known, *filter.version) != known.end();
  if (!has_version) {
    constexpr std::size_t kNamed = 8;
    const bool is_long = known.size() > kNamed;
    if (is_long) known.erase(known.begin(), known.end() - kNamed);
    return {fmt::format("no version '{}' of {} in the store; it has {}{}", *filter.version,
                        filter.service, is_long ? "lately " : "", fmt::join(known, ", "))};
  }
  return {"no window of that time, host and labels in the store"};
}

/// Finds hosts by their names.
class Places {
 public:
  explicit Places(const std::vector<HostSums>& hosts) {
    for (std::size_t i = 0; i < hosts.size(); ++i) places_[hosts[i].host] = i;
  }
  /// Nothing for one that came after the hosts were read.
  [[nodiscard]] std::optional<std::size_t> of(const std::string& host) const {
    const auto place = places_.find(host);
    return place == places_.end() ? std::nullopt : std::optional(place->second);
  }

 private:
  std::unordered_map<std::string, std::size_t> places_;
};

/// Adds hosts, each before its rows, which come in the same order. A host may have no rows.
class InTurn {
 public:
  InTurn(const std::vector<HostSums>& hosts, Recall& recall) : hosts_(hosts), recall_(recall) {}

  void add(std::size_t host, const SummedRow& row) {
    add_hosts_until(host + 1);
    recall_.add(row);
  }
  /// Hosts without rows after the last host with rows.
  void finish() { add_hosts_until(hosts_.size()); }

 private:
  void add_hosts_until(std::size_t end) {
    while (next_ < end) recall_.add_host(hosts_[next_++]);
  }

  const std::vector<HostSums>& hosts_;
  Recall& recall_;
  std::size_t next_ = 0;
};

/// Adds how processes ended, and the time that hosts lost to gaps, which are in order of hosts and
/// time.
void add_gaps(const std::vector<GapRow>& gaps, std::map<std::string, std::uint64_t>& expected,
              Reach& reach) {
  const std::string* host = nullptr;
  std::int64_t end = 0;
  for (const GapRow& gap : gaps) {
    const bool is_out_of_memory = gap.reason == kOutOfMemory;
    if (is_out_of_memory || gap.reason == kKilled) {
      ++reach.killed;
      reach.out_of_memory += is_out_of_memory ? 1 : 0;
    }
    if (gap.last == gap.first) continue;
    if (host == nullptr || *host != gap.host) end = gap.first;
    host = &gap.host;
    const std::int64_t first = std::max(end, gap.first);
    const auto lost = static_cast<std::uint64_t>(std::max<std::int64_t>(gap.last - first, 0));
    reach.gap_ms += lost * 1000;
    expected[gap.host] += lost * 1000;
    end = std::max(end, gap.last);
    ++reach.gaps;
  }
}

Reach reach_of(const std::vector<HostSums>& hosts, const std::vector<GapRow>& gaps) {
  Reach reach;
  std::map<std::string, std::uint64_t> expected;
  for (const HostSums& host : hosts) {
    ++reach.hosts;
    reach.recorded_hosts += host.recorded_ms > 0 ? 1 : 0;
    expected[host.host] = host.alive_ms;
    reach.recorded_ms += host.recorded_ms;
  }
  add_gaps(gaps, expected, reach);
  for (const auto& [host, milliseconds] : expected) {
    reach.expected_ms += milliseconds;
    reach.longest_ms = std::max(reach.longest_ms, milliseconds);
  }
  return reach;
}

/// The recorded hosts, and the share of the fleet's time that they cover.
base::Outcome<Reach> find_hosts(Store& store, const Filter& filter, std::vector<HostSums>& hosts) {
  auto all = GEIGER_TRY(store.hosts(filter));
  if (all.empty()) return nothing_selected(store, filter);
  const auto gaps = GEIGER_TRY(store.gaps(filter));
  const Reach reach = reach_of(all, gaps);
  hosts = std::move(all);
  std::erase_if(hosts, [](const HostSums& host) { return host.recorded_ms == 0; });
  if (!hosts.empty()) return reach;
  return base::Failure{fmt::format("it ran on {} host{}, but was not recorded there", reach.hosts,
                                   reach.hosts == 1 ? "" : "s")};
}

void add(estimation::NodeSums& sums, const SummedRow& row, profile::Kind kind) {
  estimation::Count count{.size = row.size, .keep = std::exp2(-static_cast<double>(row.thinning))};
  if (!row.is_certain) {
    count.lambda = estimation::rate_of_interval(static_cast<double>(row.interval));
  }
  estimation::add(sums, count, count_of(row, kind));
}

base::Outcome<void> recall_hosts(Store& store, const Filter& filter, profile::Kind kind,
                                 Fleet& fleet, Recall& recall) {
  const Places places(fleet.hosts);
  InTurn in_turn(fleet.hosts, recall);
  const auto take = [&](const std::string& host, const SummedRow& row) {
    const auto place = places.of(host);
    if (!place) return;
    in_turn.add(*place, row);
    if (!fleet.of_hosts.empty()) add(fleet.of_hosts[*place], row, kind);
  };
  const auto rows = store.rows_by_host(filter, take);
  in_turn.finish();
  return rows;
}

base::Outcome<void> recall_fleet(Store& store, const Filter& filter, profile::Kind kind,
                                 Fleet& fleet, Recall& recall) {
  for (const HostSums& host : fleet.hosts) recall.add_host(host);
  const auto take = [&](const std::string& /*host*/, const SummedRow& row) { recall.add(row); };
  if (fleet.of_hosts.empty()) return store.rows(filter, take);
  const Places places(fleet.hosts);
  return store.rows_and_hosts(filter, take, [&](const std::string& host, const SummedRow& row) {
    if (const auto place = places.of(host)) add(fleet.of_hosts[*place], row, kind);
  });
}

/// Loads the stacks, and ends the recording. Files that releases have at paths of their own are one
/// in it.
base::Outcome<profile::Recording> finish(Store& store, const Filter& filter, Recall& recall) {
  GEIGER_TRY(store.load_stacks(recall.missing_stacks(), recall));
  profile::Recording recording = recall.finish();
  if (filter.version) return recording;
  std::set<std::string> programs;
  const auto versions = GEIGER_TRY(store.versions());
  for (const VersionFacts& version : versions) {
    if (version.service == filter.service) programs.insert(version.executable);
  }
  if (!has_namesakes(recording, programs)) return recording;
  std::map<std::string, std::uint32_t> numbers;
  StackVersions of_stacks;
  GEIGER_TRY(store.versions_of_stacks(filter, [&](StackId stack, const std::string& version) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    const std::uint32_t number = numbers.try_emplace(version, next).first->second;
    const auto place = recall.place_of_known(stack);
    if (place) of_stacks.emplace_back(*place, number);
  }));
  join_releases(recording, of_stacks, programs);
  return recording;
}

}  // namespace

std::uint64_t Fleet::longest_ms() const {
  return std::ranges::max_element(hosts, {}, &HostSums::recorded_ms)->recorded_ms;
}

std::uint64_t Fleet::shortest_ms() const {
  return std::ranges::min_element(hosts, {}, &HostSums::recorded_ms)->recorded_ms;
}

base::Outcome<Reach> reach_of(Store& store, const Filter& filter) {
  std::vector<HostSums> hosts;
  return find_hosts(store, filter, hosts);
}

base::Outcome<Fleet> ask(Store& store, const Filter& filter, profile::Kind kind, Unit unit) {
  Fleet fleet;
  fleet.unit = unit;
  if (unit == Unit::kFleet) store.expect_rows(filter);
  fleet.reach = GEIGER_TRY(find_hosts(store, filter, fleet.hosts));
  if (!fleet.reach.is_whole()) fleet.of_hosts.resize(fleet.hosts.size());
  Recall recall(kind);
  GEIGER_TRY(unit == Unit::kHost ? recall_hosts(store, filter, kind, fleet, recall)
                                 : recall_fleet(store, filter, kind, fleet, recall));
  fleet.recording = GEIGER_TRY(finish(store, filter, recall));
  return fleet;
}

base::Outcome<Series> ask_series(Store& store, const Filter& filter, profile::Kind kind,
                                 std::int64_t length, bool has_stacks) {
  Series series;
  std::vector<HostSums> hosts;
  const auto reach = GEIGER_TRY(find_hosts(store, filter, hosts));
  auto steps = GEIGER_TRY(store.steps(filter, length));
  series.fleet.reach = reach;
  series.fleet.unit = Unit::kHost;
  series.steps = std::move(steps);
  std::erase_if(series.steps, [](const StepSums& step) { return step.recorded_ms == 0; });
  for (StepSums& step : series.steps) {
    step.sums.host = std::to_string(step.started);
    series.fleet.hosts.push_back(step.sums);
  }
  Recall recall(kind);
  const Places places(series.fleet.hosts);
  InTurn in_turn(series.fleet.hosts, recall);
  GEIGER_TRY(store.rows_by_time(filter, length, [&](std::int64_t started, const SummedRow& row) {
    const auto place = places.of(std::to_string(started));
    if (!place) return;
    SummedRow own = row;
    if (!has_stacks) own.stack = 0;
    in_turn.add(*place, own);
  }));
  in_turn.finish();
  series.fleet.recording = has_stacks ? GEIGER_TRY(finish(store, filter, recall)) : recall.finish();
  return series;
}

base::Outcome<void> for_each_host(Fleet fleet, const VisitHost& visit) {
  GEIGER_CHECK(fleet.unit == Unit::kHost);
  profile::Recording& one = fleet.recording;
  // The stacks stay in the recording; the counts of one host after another take their place.
  const auto processes = std::exchange(one.processes, {});
  const auto threads = std::exchange(one.threads, {});
  const auto tallies = std::exchange(one.tallies, {});
  std::uint32_t first = 0;
  std::size_t thread = 0, tally = 0;
  for (const HostSums& host : fleet.hosts) {
    std::uint32_t end = first;
    while (end < processes.size() && processes[end].started_as == host.host) ++end;
    one.processes.assign(processes.begin() + first, processes.begin() + end);
    one.threads.clear();
    for (; thread < threads.size() && threads[thread].process < end; ++thread) {
      one.threads.push_back(threads[thread]);
      one.threads.back().process -= first;
    }
    one.tallies.clear();
    for (; tally < tallies.size() && tallies[tally].alike.process < end; ++tally) {
      one.tallies.push_back(tallies[tally]);
      one.tallies.back().alike.process -= first;
    }
    GEIGER_TRY(visit(one, host));
    first = end;
  }
  return {};
}

base::Outcome<std::string> only_service(Store& store) {
  const auto services = GEIGER_TRY(store.services());
  if (services.size() == 1) return services.front();
  if (services.empty()) return base::Failure{"the store is empty: send a run with 'geiger push'"};
  return base::Failure{
      fmt::format("several services in the store; choose one with --service: {} ('geiger fleet top "
                  "--by service' shows what each has)",
                  fmt::join(services, ", "))};
}

namespace {

/// Of this many stacks at once: the memory for their names is bounded.
constexpr std::size_t kStacksAtOnce = 50'000;

/// A host of each service: what their executables are decides whose code a frame is.
base::Outcome<std::vector<HostSums>> programs_in(Store& store) {
  const auto services = GEIGER_TRY(store.services());
  std::set<std::string> executables;
  std::vector<HostSums> programs;
  for (const std::string& service : services) {
    Filter filter;
    filter.service = service;
    const auto hosts = GEIGER_TRY(store.hosts(filter));
    for (const HostSums& host : hosts) {
      if (executables.insert(host.executable).second) programs.push_back(host);
    }
  }
  return programs;
}

bool has_names(const profile::Recording& recording, std::uint32_t stack) {
  return std::ranges::all_of(recording.stacks[stack].locations, [&](std::uint32_t location) {
    return !recording.locations[location].frames.empty();
  });
}

SiteRow site_of(const profile::Recording& recording, profile::ShownPath& shown, StackId id,
                std::uint32_t stack) {
  SiteRow site;
  site.stack = id;
  shown.of(stack);
  const profile::Labels& labels = shown.labels();
  for (const std::uint32_t label : shown.path()) {
    site.path.emplace_back(compare::stem_of(labels[label].name));
  }
  const std::uint32_t module = labels[shown.path().front()].module;
  site.function = site.path.front();
  if (module != profile::kNone) {
    site.module = compare::module_name(recording.modules[module].path);
  }
  site.has_names = stack == profile::kNone || has_names(recording, stack);
  return site;
}

/// The stacks as a recording with a sample each, in their order.
base::Outcome<profile::Recording> recall_stacks(Store& store, const std::vector<StackId>& stacks,
                                                const std::vector<HostSums>& programs) {
  Recall recall(profile::Kind::kAllocated);
  for (const HostSums& program : programs) recall.add_host(program);
  for (const StackId stack : stacks) {
    SummedRow row;
    row.stack = stack;
    row.size = row.interval = row.allocated = 1;
    recall.add(row);
  }
  GEIGER_TRY(store.load_stacks(stacks, recall));
  return recall.finish();
}

}  // namespace

base::Outcome<std::uint64_t> write_sites(Store& store) {
  const auto all = GEIGER_TRY(store.stacks_without_sites());
  const auto programs = GEIGER_TRY(programs_in(store));
  if (programs.empty()) return std::uint64_t{0};
  for (std::size_t first = 0; first < all.size(); first += kStacksAtOnce) {
    const std::size_t end = std::min(all.size(), first + kStacksAtOnce);
    const std::vector<StackId> stacks(all.begin() + first, all.begin() + end);
    const auto recording = GEIGER_TRY(recall_stacks(store, stacks, programs));
    profile::ShownPath shown(recording);
    std::vector<SiteRow> sites;
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      sites.push_back(site_of(recording, shown, stacks[i], recording.tallies[i].alike.stack));
    }
    GEIGER_TRY(store.put_sites(sites));
  }
  return std::uint64_t{all.size()};
}

}  // namespace geiger::fleet
