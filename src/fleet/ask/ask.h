// Asks a store for a part of a fleet, and hands it over as recordings.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/profile/kind_rules.h"
#include "analysis/profile/recording.h"
#include "base/outcome.h"
#include "fleet/document/recall.h"
#include "fleet/store/store.h"

namespace geiger::fleet {

/// Whose counts stay apart.
enum class Unit : std::uint8_t { kHost, kFleet };

/// The windows that a filter selects, as one recording without the names that were not sent. Its
/// processes are the hosts, in the order of `hosts` (some with several, recall.h). Of live memory
/// its counts are samples times milliseconds.
struct Fleet {
  profile::Recording recording;
  std::vector<HostSums> hosts;
  Unit unit = Unit::kFleet;

  /// Of the host that was recorded for longest.
  [[nodiscard]] std::uint64_t longest_ms() const;
  [[nodiscard]] std::uint64_t shortest_ms() const;
};

/// Fails where nothing is selected; the reason names what there is.
[[nodiscard]] base::Outcome<Fleet> ask(Store& store, const Filter& filter, profile::Kind kind,
                                       Unit unit);

/// Calls visit(recording, host) with the recording of each host alone. Requires that they were
/// asked for apart.
using VisitHost =
    std::function<base::Outcome<void>(const profile::Recording& recording, const HostSums& host)>;
[[nodiscard]] base::Outcome<void> for_each_host(Fleet fleet, const VisitHost& visit);

/// The only service of a store, where a user names none. Fails where there are several, or none.
[[nodiscard]] base::Outcome<std::string> only_service(Store& store);

}  // namespace geiger::fleet
