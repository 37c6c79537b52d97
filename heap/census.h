// The use of every mapped byte of the allocator, counted by walking all of it.
//
// Threads: one; counts of heaps that other threads use meanwhile are approximate. Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/heap.h"

namespace geiger::heap {

/// All in bytes. Invariant: sum() == mapped.
struct Census {
  // Of pages of small and medium blocks.
  std::size_t live;      ///< Blocks that the program has, or that are being freed.
  std::size_t listed;    ///< On the lists of heaps.
  std::size_t free;      ///< On the lists of pages.
  std::size_t inboxes;   ///< Freed by another thread, not yet received by the owner.
  std::size_t uncarved;  ///< Not touched since the page was created.
  std::size_t tails;     ///< Ends of pages, too small for a block.

  std::size_t samples;      ///< Pages of samples. Their proxies are live.
  std::size_t large;        ///< Runs of slots.
  std::size_t huge;         ///< Objects in their own mappings,
  std::size_t huge_around;  ///< and the rest of these mappings.
  std::size_t cached;       ///< Mappings without an object.
  std::size_t empty_dirty;  ///< Slots without a page.
  std::size_t empty_clean;
  std::size_t heads;  ///< Slots 0: headers and heaps.

  std::size_t mapped;

  std::size_t live_blocks[kClasses];

  [[nodiscard]] std::size_t sum() const {
    return live + listed + free + inboxes + uncarved + tails + samples + large + huge +
           huge_around + cached + empty_dirty + empty_clean + heads;
  }
};

Census take_census();

/// Blocks of a class handed out so far by all heaps; exact if no other thread allocates.
std::uint64_t handed_out(unsigned size_class);

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
/// Takes a census at every 64th call, and aborts if a list's length differs from its count, or if a
/// byte is not accounted for. Does nothing while several threads have heaps.
void check_heap();
#else
inline void check_heap() {}
#endif

// The allocator's own counts as text: for each block size the number of blocks handed out so far
// and live, and the use of all mapped bytes.
//
// Threads: any; exact if no other thread allocates meanwhile. Signals: not from handlers.
// Allocates: never.

/// Writes to stderr: a line for each block size and one for the census.
void write_statistics();

}  // namespace geiger::heap
