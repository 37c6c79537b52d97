// What a process image allocated, and what of it lived, in one window of time: the unit that hosts
// send and stores keep.
//
// All measurements are integers: how many samples of each kind there were. Sums of them are the
// same to the bit on one machine or twenty; everything that is estimated is computed from the sums
// when they are read. Once made, a document never changes: its key names it, so that one that is
// sent twice counts once.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile/recording.h"
#include "base/units.h"

namespace geiger::fleet {

/// 64 bits of a hash of what they name (ids.h), the same on every host.
using LocationId = std::uint64_t;
using StackId = std::uint64_t;

/// Names a window: no two documents with different contents have the same one.
struct Key {
  std::string service, version, host;
  std::uint64_t process = 0;  ///< Of the image (ids.h).
  std::int64_t started = 0;   ///< Unix seconds, a multiple of the grid.
  auto operator<=>(const Key&) const = default;
};

/// One process image in one step of the grid.
struct Window {
  Key key;
  std::uint64_t recorded_ms = 0;  ///< Of the window; 0: it ran and was not recorded.
  std::uint64_t alive_ms = 0;     ///< At least recorded_ms.
  bool is_from_start = true;      ///< Else live is only what came since the recording began.
  bool is_pure = false;           ///< Objects of every size were sampled by chance.
  Bytes interval = 0;             ///< Largest in force, also where nothing was sampled.
  std::uint32_t thinning = 0;     ///< Live samples were kept with 2^-thinning.
  std::uint64_t seed = 0;
  /// Counted by the process; nothing where only the sum over several windows is known.
  std::optional<Bytes> exact_bytes;
  Bytes unsettled_bytes = 0;           ///< At most so many more.
  std::uint64_t rss_byte_seconds = 0;  ///< 0: not known.
  std::uint64_t trials = 0, hits = 0;
  std::uint64_t dropped = 0;   ///< Samples that could not be recorded.
  std::uint64_t sequence = 0;  ///< Of the process: from 0, without gaps.
  std::int32_t skew_ms = 0;    ///< Of the host's clock, before it was corrected.
  std::string executable;
  std::map<std::string, std::string> labels;
};

/// Samples alike in all that an estimate depends on.
struct CountRow {
  StackId stack = 0;
  Bytes size = 0;
  Bytes interval = 0;
  std::uint32_t thinning = 0;  ///< They were kept with 2^-thinning.
  bool is_certain = false;
  std::uint64_t allocated = 0;  ///< In the window.
  std::uint64_t live = 0;       ///< At its end.
  auto operator<=>(const CountRow&) const = default;
};

/// A program point. Names come with it where the recording has them; else a reader looks them up
/// by build id and address.
struct Location {
  LocationId id = 0;
  std::string build_id, module;
  profile::ModuleKind kind = profile::ModuleKind::kNative;
  Address address = 0;  ///< ELF vaddr; 0 of lines of interpreted programs.
  std::vector<profile::Frame> frames;
};

struct Stack {
  StackId id = 0;
  std::vector<LocationId> locations;  ///< Leaf first.
  bool is_truncated = false;
};

struct Document {
  Window window;
  std::vector<CountRow> counts;  ///< Ascending, no two alike but for their numbers.
  /// Those that the store may not know yet.
  std::vector<Stack> stacks;
  std::vector<Location> locations;
};

/// What no honest document exceeds; readers refuse what does.
inline constexpr std::size_t kMostRows = 50'000;
inline constexpr std::size_t kMostPackedBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMostBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMostDepth = 4096;
inline constexpr std::size_t kMostStacks = kMostRows;
inline constexpr std::size_t kMostLocations = std::size_t{1} << 19;
inline constexpr std::size_t kMostPositions = std::size_t{1} << 22;  ///< Of locations in stacks.
inline constexpr std::size_t kMostLabels = 64;
inline constexpr std::size_t kMostText = 4096;

}  // namespace geiger::fleet
