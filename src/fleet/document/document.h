// The allocated and live samples of a process image in one window of time: the unit that hosts send
// and stores keep.
//
// All measurements are integers, numbers of samples of each kind, so their sums are the same to the
// bit in any order and on any number of machines. Estimates are computed from the sums when they
// are read. A document never changes after it is made: it is identified by its key, so that a
// document that is sent twice counts once.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "base/outcome.h"
#include "base/units.h"

namespace geiger::fleet {

/// 64-bit hashes, the same on every host.
using LocationId = std::uint64_t;
using StackId = std::uint64_t;

/// Identifies a window: documents with different contents have different keys.
struct Key {
  std::string service, version, host;
  std::uint64_t process = 0;  ///< Of the image.
  std::int64_t started = 0;   ///< Unix seconds, a multiple of the grid.
  auto operator<=>(const Key&) const = default;
};

/// One process image in one step of the grid.
struct Window {
  Key key;
  std::int64_t began_ms = 0;      ///< When its time begins, Unix milliseconds.
  std::uint64_t recorded_ms = 0;  ///< From began_ms on. 0: it ran without being recorded.
  std::uint64_t alive_ms = 0;     ///< From began_ms on; at least recorded_ms.
  bool is_from_start = true;      ///< Else live samples are only those since the recording began.
  bool is_pure = false;           ///< Objects of every size were sampled by chance (pure mode).
  Bytes interval = 0;             ///< Largest interval in force, also if nothing was sampled.
  std::uint32_t thinning = 0;     ///< Live samples were kept with 2^-thinning.
  std::uint64_t seed = 0;
  /// Counted by the process; nothing if only the sum over several windows is known.
  std::optional<Bytes> exact_bytes;
  Bytes unsettled_bytes = 0;   ///< At most this many bytes more.
  Bytes unsettled_before = 0;  ///< Of exact_bytes, at most this many are of earlier windows.
  std::uint64_t rss_byte_seconds = 0;  ///< 0: not known.
  std::uint64_t trials = 0, hits = 0;
  std::uint64_t dropped = 0;  ///< Samples that could not be recorded.
  /// Number of the window in its process, from 0. One is left out where counts were lost.
  std::uint64_t sequence = 0;
  std::int32_t skew_ms = 0;  ///< Error of the host's clock, before the correction.
  std::string executable;
  std::map<std::string, std::string> labels;
};

/// Samples that are alike in everything that an estimate depends on.
struct CountRow {
  StackId stack = 0;
  Bytes size = 0;
  Bytes interval = 0;
  std::uint32_t thinning = 0;  ///< They were kept with 2^-thinning.
  bool is_certain = false;
  std::uint64_t allocated = 0;  ///< Allocated in the window.
  std::uint64_t live = 0;       ///< Live at its end.
  auto operator<=>(const CountRow&) const = default;
};

/// A program point. It has names if the recording has them; else a reader looks them up by build id
/// and address.
struct Location {
  LocationId id = 0;
  std::string build_id, module;
  profile::ModuleKind kind = profile::ModuleKind::kNative;
  Address address = 0;  ///< ELF vaddr; 0 for lines of interpreted programs.
  std::vector<profile::Frame> frames;
};

struct Stack {
  StackId id = 0;
  std::vector<LocationId> locations;  ///< Leaf first.
  bool is_truncated = false;
};

struct Document {
  Window window;
  std::vector<CountRow> counts;  ///< Ascending; no two differ only in their numbers.
  /// Stacks that the store may not have yet.
  std::vector<Stack> stacks;
  std::vector<Location> locations;
};

/// Limits of every valid document; readers refuse documents beyond them.
inline constexpr std::size_t kMostRows = 50'000;
inline constexpr std::size_t kMostPackedBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMostBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMostDepth = 4096;
inline constexpr std::size_t kMostStacks = kMostRows;
inline constexpr std::size_t kMostLocations = std::size_t{1} << 19;
inline constexpr std::size_t kMostPositions = std::size_t{1} << 22;  ///< Locations in a stack.
inline constexpr std::size_t kMostFrames =
    2 * kMostLocations;                                    ///< Inlined functions have some too.
inline constexpr std::size_t kMostTextBytes = kMostBytes;  ///< Of the names of all locations.
inline constexpr std::size_t kMostLabels = 64;
inline constexpr std::size_t kMostText = 4096;

// Ids of stacks and program points that are equal on every host: 64 bits of XXH3, which has the
// same values on every machine. Among 10^8 stacks two share an id with probability 3e-4; stores
// refuse a stack with a known id and other locations.

[[nodiscard]] std::uint64_t hash_of(std::string_view bytes);

/// By build id (else path) and address; for lines of interpreted programs by file, function and
/// line; for points outside every module by their name, if any.
[[nodiscard]] LocationId id_of(const Location& location);
/// By its locations, whose ids are set.
[[nodiscard]] StackId id_of(const Stack& stack);
/// Id of a process image, by host, pid, start and seed.
[[nodiscard]] std::uint64_t id_of(const profile::Process& process, std::string_view host);

// Limits of every document.

/// As documents carry names of functions, programs and files, which may be any bytes: valid UTF-8
/// without NUL, the first characters that fit into kMostText bytes. Of its own results it returns
/// the same.
[[nodiscard]] std::string document_text(std::string_view text);

/// Fails, with a clause, if a text is not a valid name of a service, version or host.
[[nodiscard]] base::Outcome<void> check_name(std::string_view text);

/// Fails, with a clause, if a document is not valid. The numbers of valid ones, and sums of
/// thousands of them, fit into signed 64 bits.
[[nodiscard]] base::Outcome<void> check_limits(const Document& document);

}  // namespace geiger::fleet
