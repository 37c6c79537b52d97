// Asks a store for a part of a fleet, and hands it over as recordings.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/profile/kind_rules.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"
#include "base/outcome.h"
#include "estimation/sums.h"
#include "fleet/document/recall.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

/// Whose counts stay apart. kHostIfMissing: those of hosts if something was not recorded, which
/// what hosts have lets be estimated, else of the fleet.
enum class Unit : std::uint8_t { kHost, kFleet, kHostIfMissing };

/// How much of the hosts' time was recorded. Hours of a host count once, however many of its
/// processes ran in them.
struct Reach {
  std::uint64_t hosts = 0;           ///< That ran it.
  std::uint64_t recorded_hosts = 0;  ///< For some of their time.
  std::uint64_t expected_ms = 0;     ///< That hosts ran, gaps included.
  std::uint64_t recorded_ms = 0;
  std::uint64_t longest_ms = 0;  ///< That a host ran, gaps included.
  std::uint64_t gaps = 0;        ///< Stretches of time that were recorded and lost.
  std::uint64_t gap_ms = 0;

  [[nodiscard]] bool is_whole() const { return recorded_ms >= expected_ms; }
};

/// The windows that a filter selects, as one recording without the names that were not sent. Its
/// processes are the hosts, in the order of `hosts` (some with several, recall.h). Of live memory
/// its counts are samples times milliseconds.
struct Fleet {
  profile::Recording recording;
  std::vector<HostSums> hosts;  ///< That were recorded.
  Unit unit = Unit::kFleet;     ///< kHost or kFleet.
  Reach reach;

  /// Of the host that was recorded for longest.
  [[nodiscard]] std::uint64_t longest_ms() const;
  [[nodiscard]] std::uint64_t shortest_ms() const;
};

/// Fails where nothing is selected; the reason names what there is.
[[nodiscard]] base::Outcome<Fleet> ask(Store& store, const Filter& filter, profile::Kind kind,
                                       Unit unit);

/// How much of what a filter selects was recorded. Fails as ask() does.
[[nodiscard]] base::Outcome<Reach> reach_of(Store& store, const Filter& filter);

/// Calls visit(recording, host) with the recording of each host alone. Requires that they were
/// asked for apart.
using VisitHost =
    std::function<base::Outcome<void>(const profile::Recording& recording, const HostSums& host)>;
[[nodiscard]] base::Outcome<void> for_each_host(Fleet fleet, const VisitHost& visit);

/// What of the bytes of a profile of the fleet's recording each host has, in their order. Requires
/// that they were asked for apart.
[[nodiscard]] std::vector<estimation::NodeSums> sums_of_hosts(const Fleet& fleet,
                                                              const profile::Profile& profile);

/// Steps of time as a fleet, each in the place of a host (HostSums::host is when it began).
struct Series {
  Fleet fleet;
  std::vector<StepSums> steps;  ///< Those with something recorded, parallel to the hosts.
};

/// Asks for steps of `length` seconds, a multiple of the grid. Without `has_stacks` samples have
/// none, which is much faster. Fails as ask() does.
[[nodiscard]] base::Outcome<Series> ask_series(Store& store, const Filter& filter,
                                               profile::Kind kind, std::int64_t length,
                                               bool has_stacks);

/// The only service of a store, where a user names none. Fails where there are several, or none.
[[nodiscard]] base::Outcome<std::string> only_service(Store& store);

}  // namespace geiger::fleet
