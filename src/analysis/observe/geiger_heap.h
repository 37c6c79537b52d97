// geiger's own malloc, read from outside while the process runs: what every byte that it has mapped
// is used for, and how full the pages are that live samples lie on.
//
// Only headers are read, the lists of free blocks that other threads sent, and the proxies of
// samples: vocabulary/heap_layout.h says where. The process goes on meanwhile. So nothing is
// believed that does not fit: every number must be possible, and the parts must add up to what is
// mapped.
#pragma once

#include <span>
#include <vector>

#include "analysis/observe/live_set.h"
#include "analysis/observe/memory_reader.h"
#include "analysis/observe/occupancy.h"
#include "analysis/observe/proc_text.h"
#include "analysis/profile/memory/observations.h"
#include "base/outcome.h"

namespace geiger::observe {

/// Where the bytes of a sample's block are.
struct SampleBlock {
  trace::Ref ref = 0;
  Address start = 0, end = 0;
};

struct GeigerHeap {
  profile::HeapCensus census;
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
