// Classifies the mappings of a process: heap, stacks, files, memory of the runtime, the program's
// own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/observe/live_set.h"
#include "analysis/observe/proc_files.h"
#include "analysis/profile/recording/observations.h"

namespace geiger::observe {

/// Facts that classify mappings, besides the mappings themselves.
struct MapFacts {
  std::string trace_name;  ///< Of the trace's file, without directories.
  std::uint64_t trace_inode = 0;
  const LiveSet* live = nullptr;    ///< Not null.
  std::span<const Range> extents;   ///< Of live samples, as extents_of() has them.
  std::span<const Address> stacks;  ///< Stack pointers, sorted.
};

/// Whether the mapping shows the trace that is being followed: its process wrote it.
[[nodiscard]] bool is_trace(const Mapping& mapping, const MapFacts& facts);

/// The kind of each mapping. Anonymous memory of the runtime in a mapping of its own cannot be
/// recognised here (live_set.h).
[[nodiscard]] std::vector<profile::MapKind> kinds_of(std::span<const Mapping> mappings,
                                                     const MapFacts& facts);

/// The program's own mappings, in order of addresses, neighbours joined. Mappings in which its
/// allocator has put objects are the allocator's, also if the program called mmap, and those with a
/// stack are stacks. The kernel may have joined the others with memory of the allocator.
[[nodiscard]] std::vector<Range> own_ranges(const MapFacts& facts);

[[nodiscard]] profile::MapTable totals_of(std::span<const Mapping> mappings,
                                          std::span<const profile::MapKind> kinds);

}  // namespace geiger::observe
