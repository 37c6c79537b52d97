// Names of code that no module holds: what JITs of the recorded processes wrote into perf maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "base/units.h"

namespace geiger::symbolize {

// Names of code that a JIT compiled: /tmp/perf-PID.map, one line per function,
// `START SIZE NAME` with hexadecimal numbers.

/// Larger maps are not read.
inline constexpr std::size_t kMaxPerfMapBytes = std::size_t{512} << 20;

/// Whose map is wanted.
struct MapOwner {
  std::uint32_t pid = 0;       ///< In its own pid namespace: the number in the name.
  std::uint32_t here = 0;      ///< Its id here, by which its root is found while it runs; 0: none.
  Nanoseconds not_before = 0;  ///< ns since the epoch: older maps are those of an earlier process
                               ///< with this id. 0 = any age.
  std::uint32_t user = 0;      ///< May own it too, beside us and root: the user it ran as.
};

/// The map of a process in `directory`, which is looked up in its own root while it runs, or
/// nothing. Only a regular file of these users counts: anybody may write into /tmp.
[[nodiscard]] std::optional<std::string> read_perf_map(const std::string& directory,
                                                       const MapOwner& owner);

/// Removes the map that read_perf_map() would read here; leaves anything else.
void remove_perf_map(const std::string& directory, const MapOwner& owner);

/// For each return address of `addresses` (ascending) the function of `map` that
/// holds the call; empty = none. Lines that cannot be read are passed over; of
/// several that cover an address the last one wins, as code is replaced.
[[nodiscard]] std::vector<std::string_view> look_up_perf_map(std::string_view map,
                                                             std::span<const Address> addresses);

// What the names in perf maps say: V8 puts the place of a function after its name, the JVM the
// type of its result before it.

/// The frame of a line's name:
///
///   JS:*handler /srv/app.js:12:17        V8: handler, at line 12 of /srv/app.js, where it begins
///   void app.Leak.remember(int)          HotSpot: app.Leak.remember(int)
///
/// V8's marks for how it compiled a function (~ + ^ *) are left out, so that each is one function.
/// Other names are functions as they are.
[[nodiscard]] profile::Frame jit_frame(std::string_view name);

// Names of code that no module holds: what JITs of the recorded processes wrote into perf maps.

/// By location.
using OutsideNames = std::map<std::uint32_t, std::string>;

/// Names of `locations` from the maps of their processes in `directory`, and of their parents by
/// fork.
[[nodiscard]] OutsideNames name_outside(const profile::Recording& recording,
                                        const std::string& directory,
                                        std::span<const std::uint32_t> locations);

/// Removes the map that a process left in `directory`, as far as read_perf_map() would trust it.
void remove_map_of(const profile::Process& process, const std::string& directory);

}  // namespace geiger::symbolize
