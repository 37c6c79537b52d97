#include "fleet/ask/ask.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"

namespace geiger::fleet {
namespace {

/// What the store has in place of what was asked for.
base::Failure nothing_selected(Store& store, const Filter& filter) {
  const auto versions = store.versions();
  if (!versions.has_value()) return versions.failure();
  std::vector<std::string> known;
  std::set<std::string> services;
  for (const VersionFacts& facts : versions.value()) {
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

/// Both lists are in order of hosts; a host may have no rows.
base::Outcome<void> recall_hosts(Store& store, const Filter& filter,
                                 const std::vector<HostSums>& hosts, Recall& recall) {
  std::size_t next = 0;
  const auto rows = store.rows_by_host(filter, [&](const std::string& host, const SummedRow& row) {
    while (next == 0 || hosts[next - 1].host != host) {
      if (next == hosts.size()) return;  // It came after the hosts were asked for.
      recall.add_host(hosts[next++]);
    }
    recall.add(row);
  });
  while (next < hosts.size()) recall.add_host(hosts[next++]);
  return rows;
}

base::Outcome<void> recall_fleet(Store& store, const Filter& filter,
                                 const std::vector<HostSums>& hosts, Recall& recall) {
  for (const HostSums& host : hosts) recall.add_host(host);
  return store.rows(filter,
                    [&](const std::string& /*host*/, const SummedRow& row) { recall.add(row); });
}

}  // namespace

std::uint64_t Fleet::longest_ms() const {
  return std::ranges::max_element(hosts, {}, &HostSums::recorded_ms)->recorded_ms;
}

std::uint64_t Fleet::shortest_ms() const {
  return std::ranges::min_element(hosts, {}, &HostSums::recorded_ms)->recorded_ms;
}

base::Outcome<Fleet> ask(Store& store, const Filter& filter, profile::Kind kind, Unit unit) {
  auto hosts = store.hosts(filter);
  if (!hosts.has_value()) return hosts.failure();
  if (hosts->empty()) return nothing_selected(store, filter);
  Recall recall(kind);
  const auto rows = unit == Unit::kHost ? recall_hosts(store, filter, hosts.value(), recall)
                                        : recall_fleet(store, filter, hosts.value(), recall);
  if (!rows.has_value()) return rows.failure();
  const auto stacks = store.load_stacks(recall.missing_stacks(), recall);
  if (!stacks.has_value()) return stacks.failure();
  return Fleet{recall.finish(), std::move(hosts.value()), unit};
}

base::Outcome<void> for_each_host(Fleet fleet, const VisitHost& visit) {
  GEIGER_CHECK(fleet.unit == Unit::kHost);
  profile::Recording& one = fleet.recording;
  // The stacks stay where they are; what belongs to a host takes turns.
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
    const auto visited = visit(one, host);
    if (!visited.has_value()) return visited;
    first = end;
  }
  return {};
}

base::Outcome<std::string> only_service(Store& store) {
  const auto versions = store.versions();
  if (!versions.has_value()) return versions.failure();
  std::set<std::string> services;
  for (const VersionFacts& facts : versions.value()) services.insert(facts.service);
  if (services.size() == 1) return *services.begin();
  if (services.empty()) return base::Failure{"the store is empty: send a run with 'geiger push'"};
  return base::Failure{fmt::format("several services in the store; choose one with --service: {}",
                                   fmt::join(services, ", "))};
}

}  // namespace geiger::fleet
