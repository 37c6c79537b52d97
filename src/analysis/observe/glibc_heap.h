// The chunks of glibc's heaps, read from outside while the process runs.
//
// A heap is a chain: each chunk begins with two words, of which the second holds its
// size and, in its lowest bits, whether the chunk before is in use, whether it has a
// mapping of its own, and whether it belongs to an arena of a thread. The main arena's
// chain fills [heap]; the other arenas' fill the beginning of areas of 64 MiB that are
// aligned to their size. (glibc 2.26 and later on 64-bit machines; malloc.c, arena.c)
//
// Chunks that a thread keeps in its cache (tcache, at most seven of a size) or that wait
// in a fastbin look used, and count as used.
//
// The process goes on while it is read. So nothing is believed that does not fit: every
// size must be possible, the chain must end where the heap does, and every sample that
// still lives when the walk is over must be a chunk of it.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/observe/live_set.h"
#include "analysis/observe/memory_reader.h"
#include "analysis/observe/occupancy.h"
#include "analysis/observe/proc_text.h"
#include "base/outcome.h"

namespace geiger::observe {

/// The chunk of an object: from 16 bytes before it to the next chunk.
struct ChunkRange {
  Address start = 0, end = 0;
};
[[nodiscard]] ChunkRange chunk_of(const LiveSample& sample);

struct HeapWalk {
  PageOccupancy occupancy;
  /// Samples that are not chunks of their heap: freed meanwhile, or the walk went wrong.
  std::vector<trace::Ref> unmatched;
  tsl::robin_map<Bytes, std::uint64_t> in_use;  ///< Chunks by size.
};

/// Whether the path is that of glibc.
[[nodiscard]] bool is_glibc(std::string_view library);

/// Where the heap of an arena may begin in a mapping.
[[nodiscard]] std::vector<Address> arena_places(const Mapping& mapping);

/// Adds the chunks of the heap in [start, end). `samples` are the live samples in that
/// range, in order of addresses. Fails if the chain makes no sense; then `walk` is of no use.
base::Outcome<void> walk_heap(const ReadMemory& read, Address start, Address end,
                              std::span<const LiveSample> samples, HeapWalk& walk);

/// kAll: as far as they are in memory.
enum class Heaps : std::uint8_t { kOfSamples, kAll };

/// Adds the heaps of all arenas, or of those that live samples lie in. `mappings` in order.
base::Outcome<void> walk_glibc(const ReadMemory& read, std::span<const Mapping> mappings,
                               std::span<const LiveSample> samples, Heaps heaps, HeapWalk& walk);

}  // namespace geiger::observe
