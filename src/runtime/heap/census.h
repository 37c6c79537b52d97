// What every mapped byte of the allocator is used for, counted by walking all of it.
//
// Threads: one; the counts of heaps that other threads use meanwhile are blurred. Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/heap/classes.h"

namespace geiger::heap {

/// All in bytes. Invariant: sum() == mapped.
struct Census {
  // Of pages of small and medium blocks.
  std::size_t live;      ///< Blocks that the program has, or that are on their way back to it.
  std::size_t listed;    ///< On the lists of heaps.
  std::size_t free;      ///< On the lists of pages.
  std::size_t inboxes;   ///< Freed by another thread, on their way back.
  std::size_t uncarved;  ///< Not touched since the page began.
  std::size_t tails;     ///< Too small for another block.

  std::size_t samples;      ///< Pages of samples. Their proxies are live.
  std::size_t large;        ///< Runs of slots.
  std::size_t huge;         ///< Objects in mappings of their own,
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

/// Blocks of a class that were ever handed out, by all heaps: exact, if no other thread allocates.
std::uint64_t handed_out(unsigned size_class);

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
/// Walks everything now and then, and aborts if a list is not as long as its count, or if a byte
/// has no owner. Does nothing while several threads have heaps.
void check_heap();
#else
inline void check_heap() {}
#endif

}  // namespace geiger::heap
