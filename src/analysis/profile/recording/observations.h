// What was read about a process from outside while it ran: its memory by the
// kernel's books, and where the live samples lay at chosen instants. Pure data, like
// the recording it belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace geiger::profile {

/// What a stretch of a process's memory is, as far as it is visible from outside.
/// Each resident page counts for one kind.
enum class MapKind : std::uint8_t {
  kMallocHeap,  ///< [heap], and anonymous maps that hold objects from the allocator.
  kMapped,      ///< What the program mapped by itself, past its allocator.
  kAnonymous,   ///< Other anonymous memory: of libraries, of the loader.
  kStack,       ///< Stacks of threads whose stack pointer could be read.
  kFile,        ///< Mapped files: code, data, the pages that were copied from them.
  kShared,      ///< Shared memory: tmpfs, memfd, System V, shared anonymous.
  kRuntime,     ///< Geiger itself: the mapped trace, the runtime's library and tables.
  kOther,       ///< vdso and the like.
};
inline constexpr std::size_t kMapKinds = 8;

/// Bytes of one kind.
struct MapTotals {
  Bytes size = 0;  ///< Of address space.
  Bytes resident = 0;
  Bytes swapped = 0;
};
using MapTable = std::array<MapTotals, kMapKinds>;

/// What a stretch of the memory of geiger's own malloc is used for (docs/internals/heap.md). Each
/// byte that it has mapped counts for one.
enum class HeapPart : std::uint8_t {
  kUsed,      ///< Blocks that the program has, with their rounding; also those of samples.
  kFree,      ///< Free blocks on pages that have used ones.
  kKept,      ///< The same, but threads keep them or were sent them.
  kUncarved,  ///< Of pages, what was never a block.
  kSamples,   ///< Pages to which samples are moved.
  kLarge,     ///< Objects above 64 KiB.
  kEmpty,     ///< Without a page or an object.
  kHeaders,
  kUnused,  ///< Free blocks, also kept ones, on pages without a used one.
};
inline constexpr std::size_t kHeapParts = 9;

/// Of a part, its bytes and how many are in memory; of large objects and their mappings only the
/// former is known. The bytes of all parts are what is mapped.
struct HeapCensus {
  std::array<MapTotals, kHeapParts> parts{};
  Bytes mapped = 0;

  [[nodiscard]] const MapTotals& of(HeapPart part) const {
    return parts[static_cast<std::size_t>(part)];
  }
};

/// The kernel's counters at an instant. They may lag by some hundred KiB.
struct MemoryCounts {
  Bytes resident = 0;  ///< anonymous + file + shared.
  Bytes anonymous = 0, file = 0, shared = 0;
  Bytes swapped = 0;
};

/// A stretch of the series: one reading, or several that were merged.
struct SeriesPoint {
  Nanoseconds time = 0;  ///< CLOCK_MONOTONIC, of `counts`.
  MemoryCounts counts;   ///< The reading with most resident.
  Bytes least = 0;       ///< Least resident of the readings merged.
};

/// Where the bytes of a live sample's object lay. What is neither resident nor
/// swapped was never touched, or given back.
struct SampleResidency {
  std::uint32_t sample = 0;  ///< Index into Recording::samples.
  Bytes resident = 0;        ///< On resident pages, of [address, address + requested).
  Bytes swapped = 0;
};

/// The free bytes that a live sample answers for (docs/internals/estimators.md, Stranded bytes).
struct SampleWaste {
  std::uint32_t sample = 0;
  Bytes bytes = 0;  ///< Rounded at random, so that it is right on average.
};

/// What a sample of a Python object is.
struct SampleType {
  std::uint32_t sample = 0;  ///< Index into Recording::samples.
  std::uint32_t type = 0;    ///< Index into ObjectTypes::names.
};

/// The types of objects of Python, read from the memory of those that lived at a snapshot.
struct ObjectTypes {
  std::vector<std::string> names;
  std::vector<SampleType> samples;
  std::string fault;  ///< Why none could be read, the last time that there were some to read.
};

/// Chunks of one size that are in use.
struct ChunkCount {
  Bytes bytes = 0;  ///< Of one chunk, with what the allocator puts before its object.
  std::uint64_t count = 0;
};

/// The heap in use at one instant, by a walk through the allocator's chunks.
struct ChunkCensus {
  Nanoseconds time = 0;            ///< CLOCK_MONOTONIC, the middle of the walk.
  std::vector<ChunkCount> in_use;  ///< In order of sizes. Without chunks that have own mappings.
};

inline constexpr std::size_t kMostWalks = 48;

/// What was read at one instant.
struct Snapshot {
  Nanoseconds time = 0;  ///< When the reading began.
  Nanoseconds cost = 0;  ///< Processor time it took.
  MapTable maps{};
  MemoryCounts counts;
  /// Live samples with where they lay. Meaningful if `residency_fault` is empty.
  std::vector<SampleResidency> residency;
  std::string residency_fault;  ///< Why `residency` is empty.
  std::vector<SampleWaste> waste;
  std::string waste_fault = "not requested";  ///< Why `waste` is not known; empty if it is.
  std::optional<HeapCensus> census;           ///< Of geiger's own malloc.

  [[nodiscard]] const MapTotals& of(MapKind kind) const {
    return maps[static_cast<std::size_t>(kind)];
  }
  /// All kinds together.
  [[nodiscard]] Bytes resident() const {
    Bytes sum = 0;
    for (const MapTotals& totals : maps) sum += totals.resident;
    return sum;
  }
};

/// Any number of copies, as none could be counted.
inline constexpr std::uint32_t kAnyCopies = 0xffffffff;

/// What the bytes of a live sample's object were, as counts alone.
struct SampleContent {
  std::uint32_t sample = 0;  ///< Index into Recording::samples.
  Bytes zero = 0;            ///< Of the requested bytes, those that were zero.
  Bytes unread = 0;          ///< Those that are not known: swapped out, or freed before.
  /// Live blocks with the same size and content, itself included; 1 of what is no candidate: small
  /// or wholly zero objects, and those of classes (docs/internals/estimators.md, Equal objects).
  std::uint32_t copies = 1;
  std::uint32_t most_copies = 1;  ///< With those that may be copies; kAnyCopies: no limit.
};

/// The content of the live samples of a process, each looked at once while it ran.
struct Content {
  Nanoseconds time = 0;  ///< CLOCK_MONOTONIC, when the reading began.
  Nanoseconds cost = 0;  ///< Processor time it took.
  Bytes resident = 0;    ///< RSS then.
  /// In order of `sample`. Of others that lived at `time` nothing is known.
  std::vector<SampleContent> samples;
};

/// What keeps a live object alive, at one instant.
enum class Hold : std::uint8_t {
  kReached,       ///< A chain of pointers from a root reaches it.
  kUnreferenced,  ///< No pointer to it was found.
  kUnreachable,   ///< Only other unreachable blocks point to it.
  kMoving,        ///< Not reached by the last scan, but by one before, or not there at the first;
                  ///< or scans went on finding others.
  kUnread,        ///< Not reached, but not all of the memory could be read.
  kTimeOver,      ///< Not reached before the time for it was over, or the process ended.
  kNoBlock,       ///< It lies in no block that the scan knows.
  kNear,          ///< Reached only if blocks begin a little before where that was inferred.
  kListed,        ///< Reached only through the lists of CPython's collector.
};
inline constexpr std::size_t kHolds = 9;

/// A block on the way from a root to an object.
struct HolderStep {
  Bytes bytes = 0;
  std::string type;          ///< By its vtable; empty: not known.
  std::uint32_t sample = 0;  ///< Index into Recording::samples, if `is_sampled`.
  bool is_sampled = false;
  std::uint32_t times = 1;  ///< So many alike, one after another.
  /// This and the next ones, so many together, are what is there so many times.
  std::uint32_t together = 1;
};

/// Of a longer chain those next to the object are kept.
inline constexpr std::size_t kMostHolderBlocks = 4096;

/// A chain: of one of the samples of a stack that a root holds.
struct HolderPath {
  std::vector<HolderStep> steps;  ///< From the root on, without the object itself.
};

struct SampleHold {
  std::uint32_t sample = 0;  ///< Index into Recording::samples.
  Hold hold = Hold::kReached;
  bool is_alone = false;   ///< No other root reaches it: without the root it could be freed.
  std::uint32_t root = 0;  ///< If reached: into Holders::roots.
  std::uint32_t path = 0;  ///< If reached: into Holders::paths.
};

/// What holds the live samples of a process.
struct Holders {
  Nanoseconds time = 0;  ///< CLOCK_MONOTONIC, when the last scan began.
  Nanoseconds cost = 0;  ///< Processor time of all scans.
  std::uint32_t scans = 0;
  bool is_inferred = false;    ///< Where blocks begin was inferred from pointers.
  Bytes not_understood = 0;    ///< Of heaps whose blocks are known: their bytes count as roots.
  Bytes unread = 0;            ///< Could not be read: in swap.
  bool has_registers = false;  ///< Of threads: they are roots too.
  std::uint32_t unread_registers = 0;  ///< Then, of so many threads they could not be read.
  std::uint64_t blocks = 0;
  std::vector<std::string> roots;
  /// By root that holds samples: another that holds most of what it does not hold alone, into
  /// `roots`; kNone: not known.
  std::vector<std::uint32_t> beside;
  std::vector<HolderPath> paths;
  std::vector<SampleHold> samples;  ///< In order of `sample`.
};

/// Blocks of a heap that are held alike; they were counted, not sampled.
struct HeldBlocks {
  Hold hold = Hold::kReached;
  std::string root;  ///< If reached.
  Bytes bytes = 0;   ///< With what the allocator adds to each.
  std::uint64_t blocks = 0;
  Bytes alone = 0;                ///< Of `bytes`, what no other root reaches.
  std::vector<ChunkCount> sizes;  ///< Those with most bytes first.
};

/// "[unreachable]", "[undecided]" ...: what objects are called that no root is known to hold.
inline constexpr std::string_view kUnreachable = "[unreachable]", kUndecidedHold = "[undecided]",
                                  kOnlyListed = "[only listed by CPython's collector]";
/// What a variable of libstdc++ is called that holds what the library allocates when it is loaded.
inline constexpr std::string_view kExceptionPool = "libstdc++'s emergency pool for exceptions";
/// Objects that no scan was about.
inline constexpr std::string_view kNotScanned = "[not scanned]";

[[nodiscard]] constexpr bool is_unreachable(Hold hold) {
  return hold == Hold::kUnreferenced || hold == Hold::kUnreachable;
}

/// What holds some of the samples.
struct Holder {
  std::string name;  ///< Of the root; else as above.
  Hold hold = Hold::kReached;
  bool is_alone = false;           ///< As of SampleHold.
  std::uint32_t observations = 0;  ///< If reached: into Recording::observations,
  std::uint32_t path = 0;          ///< and into the paths of its holders.
  std::string beside = {};         ///< Another root, of Holders::beside.
};

/// Of one process.
struct Observations {
  std::uint32_t process = 0;           ///< Index into Recording::processes.
  std::vector<SeriesPoint> series;     ///< In order of time.
  Bytes high_water = 0;                ///< The kernel's own maximum, when last read.
  Nanoseconds cost = 0;                ///< Processor time spent on observing it.
  Nanoseconds worked = 0;              ///< Its own processor time between two readings.
  std::uint64_t refused = 0;           ///< Readings that failed: no permission, gone.
  std::string fault;                   ///< Why nothing could be read; empty otherwise.
  std::optional<Snapshot> at_maximum;  ///< At the largest RSS that was caught.
  std::optional<Snapshot> last;        ///< The last before the end.
  /// Of a process with objects from before the recording: at most kMostWalks, in order of time.
  std::vector<ChunkCensus> walks;
  std::string walk_fault;  ///< Why a walk, or all later ones, failed; empty if none did.
  /// In a Recording only its fault: the samples have their types (Sample::type).
  ObjectTypes types;
  std::optional<Holders> holders;
  std::string holders_fault;  ///< Why `holders` is not known, if it was asked for.
  /// At the largest RSS of all readings of content, and the last one.
  std::optional<Content> content_at_maximum, last_content;
  std::string content_fault;  ///< Why the latest reading of content failed; empty if it did not.
};

/// Leaves every second of the walks out until they are at most kMostWalks.
void thin(std::vector<ChunkCensus>& walks);

/// Adds what was observed of the same process later.
void append(Observations& observations, Observations later);

/// "used_blocks", ...
[[nodiscard]] std::string_view key_of(HeapPart part);

}  // namespace geiger::profile
