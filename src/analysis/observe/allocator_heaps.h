// How full the heaps of allocators are, as far as their layout is known: glibc's arenas, and
// geiger's malloc.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/observe/live_set.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/process_memory.h"
#include "analysis/profile/recording/observations.h"
#include "base/outcome.h"
#include "base/units.h"

namespace geiger::observe {

// How full the pages of an allocator are, and what of the rest a sample answers for.
//
// The seam between allocators and the profile of stranded bytes: a reader of an allocator's pages,
// which knows which bytes hold objects, fills PageOccupancy. walk_heap does so for glibc
// from outside, read_geiger_heap for our own malloc from its page headers.

/// A page that holds objects.
struct PageUse {
  std::uint64_t page = 0;  ///< Address / page size.
  Bytes used = 0;          ///< In objects, with what the allocator puts before them.
  Bytes free = 0;          ///< In free blocks.
};

/// Built from blocks in order of addresses.
class PageOccupancy {
 public:
  explicit PageOccupancy(Bytes page_bytes) : page_bytes_(page_bytes) {}

  /// A block [start, end) after all earlier blocks.
  void add(Address start, Address end, bool is_used);

  /// A page of which the sums are known, after all earlier pages.
  void add_page(const PageUse& use) { pages_.push_back(use); }

  /// free / used of the page; 0 for one that is not known or holds nothing.
  [[nodiscard]] double waste_per_used_byte(std::uint64_t page) const;
  /// The free bytes that the bytes [start, end) answer for: each carries free / used of its page,
  /// so that all used bytes of a page together carry its free ones.
  [[nodiscard]] double waste_of(Address start, Address end) const;

 private:
  PageUse& page(std::uint64_t number);

  Bytes page_bytes_;
  std::vector<PageUse> pages_;
};

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

// geiger's own malloc, read from outside while the process runs: what every byte that it has mapped
// is used for, and how full the pages are that live samples lie on.
//
// Only headers are read, the lists of free blocks that other threads sent, and the proxies of
// samples: vocabulary/heap_layout.h says where. The process goes on meanwhile. So nothing is
// believed that does not fit: every number must be possible, and the parts must add up to what is
// mapped.

/// Where the bytes of a sample's block are.
struct SampleBlock {
  trace::Ref ref = 0;
  Address start = 0, end = 0;
};

/// Equal blocks, side by side.
struct BlockRun {
  Address start = 0;
  Bytes block = 0;
  std::uint64_t count = 0;
};

struct GeigerHeap {
  profile::HeapCensus census;
  std::vector<Address> segments;  ///< Of vocabulary::heap_layout::kSegmentBytes each.
  std::vector<BlockRun> runs;     ///< All blocks in segments, free ones too.
  /// By slots of 64 KiB; of a page of eight slots each has an eighth.
  PageOccupancy occupancy;
  /// Of the given samples; without those that have no page of blocks.
  std::vector<SampleBlock> blocks;
  std::vector<trace::Ref> unmatched;  ///< Not live objects of this heap, or not any more.
};

/// Bytes of a range in memory.
using ResidentIn = std::function<Bytes(Address start, Bytes bytes)>;

/// `library` is the path of the allocator. `samples` in order of addresses.
base::Outcome<GeigerHeap> read_geiger_heap(const ReadMemory& read, const ResidentIn& resident,
                                           std::span<const Mapping> mappings,
                                           std::string_view library,
                                           std::span<const LiveSample> samples);

/// Whether the path is that of geiger's own malloc.
[[nodiscard]] bool is_geiger_heap(std::string_view library);

}  // namespace geiger::observe
