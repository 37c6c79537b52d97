// Reads a part of a fleet from a store, as recordings.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/kind_rules.h"
#include "analysis/profile/select/profile.h"
#include "base/outcome.h"
#include "estimation/sums.h"
#include "fleet/document/recall.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

/// Whether counts are kept per host, or only added up.
enum class Unit : std::uint8_t { kHost, kFleet };

/// How much of the hosts' time was recorded. An hour of a host counts once, however many processes
/// ran in it.
struct Reach {
  std::uint64_t hosts = 0;           ///< Hosts that ran it.
  std::uint64_t recorded_hosts = 0;  ///< Hosts recorded for some of their time.
  std::uint64_t expected_ms = 0;     ///< Time that hosts ran, gaps included.
  std::uint64_t recorded_ms = 0;
  std::uint64_t longest_ms = 0;  ///< That a host ran, gaps included.
  std::uint64_t gaps = 0;        ///< Periods that were recorded and then lost.
  std::uint64_t gap_ms = 0;
  std::uint64_t killed = 0;         ///< Processes that ended without exit().
  std::uint64_t out_of_memory = 0;  ///< Of these, while their hosts ran out of memory.

  [[nodiscard]] bool is_whole() const { return recorded_ms >= expected_ms; }
};

/// The windows that a filter selects, as one recording, without names that were not sent. Its
/// processes are the hosts, in the order of `hosts` (some hosts have several, recall.h). Its counts
/// of live memory are samples times milliseconds.
struct Fleet {
  profile::Recording recording;
  std::vector<HostSums> hosts;  ///< That were recorded.
  Unit unit = Unit::kFleet;
  Reach reach;
  /// If something was not recorded: what each of the hosts has in all, so that the rest can be
  /// estimated from them. Of live memory, sums over milliseconds (NodeSums::average_over).
  std::vector<estimation::NodeSums> of_hosts;

  /// Recorded time of the host that was recorded for longest.
  [[nodiscard]] std::uint64_t longest_ms() const;
  [[nodiscard]] std::uint64_t shortest_ms() const;
};

/// Fails if nothing is selected; the reason names the contents of the store.
[[nodiscard]] base::Outcome<Fleet> ask(Store& store, const Filter& filter, profile::Kind kind,
                                       Unit unit);

/// How much of a filter's selection was recorded. Fails as ask() does.
[[nodiscard]] base::Outcome<Reach> reach_of(Store& store, const Filter& filter);

/// Calls visit(recording, host) with the recording of each host alone. Requires Unit::kHost.
using VisitHost =
    std::function<base::Outcome<void>(const profile::Recording& recording, const HostSums& host)>;
[[nodiscard]] base::Outcome<void> for_each_host(Fleet fleet, const VisitHost& visit);

/// Steps of time in the form of a fleet: each step takes the place of a host (HostSums::host is its
/// start).
struct Series {
  Fleet fleet;
  std::vector<StepSums> steps;  ///< The steps with something recorded, parallel to the hosts.
};

/// Reads steps of `length` seconds, a multiple of the grid. Without `has_stacks` samples have no
/// stacks, which is much faster. Fails as ask() does.
[[nodiscard]] base::Outcome<Series> ask_series(Store& store, const Filter& filter,
                                               profile::Kind kind, std::int64_t length,
                                               bool has_stacks);

/// The only service of a store, for users who name none. Fails if there are several, or none.
[[nodiscard]] base::Outcome<std::string> only_service(Store& store);

// Names of stacks for readers that only have SQL, such as Grafana.

/// Writes the sites of all stacks that have none yet, or that lacked names; how many it wrote.
/// The function to blame is the one that reports blame, by the rules that are built in; names are
/// those of releases: without what compilers append.
[[nodiscard]] base::Outcome<std::uint64_t> write_sites(Store& store);

}  // namespace geiger::fleet
