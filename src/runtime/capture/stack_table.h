// Stacks seen in this image: 64-bit hash -> StackRecord. Insert-only. A collision
// of two among a million stacks has probability 3e-8.
//
// Threads / Signals: lock-free; two threads that meet a new stack at once may both
// record it, which readers merge. Fork: the child starts an empty table.
// Allocates: pages from the kernel when it grows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/format.h"

namespace geiger::capture {

class StackTable {
 public:
  constexpr StackTable() = default;

  /// The record of this stack, 0 if it has none yet.
  [[nodiscard]] trace::Ref find(std::uint64_t hash) const;

  /// Remembers a record. Without memory it forgets: the stack is then written again.
  void insert(std::uint64_t hash, trace::Ref ref);

  /// Forgets everything (fork child). The pages are left to the parent's copy.
  void reset() { newest_.store(nullptr, std::memory_order_relaxed); }

 private:
  struct Slot {
    std::atomic<std::uint64_t> hash;
    std::atomic<trace::Ref> ref;
  };
  struct Table {
    Table* older;
    std::size_t mask;
    std::atomic<std::size_t> used;
    Slot* slots;
  };

  Table* grow_slow(Table* newest);

  std::atomic<Table*> newest_{nullptr};
};

}  // namespace geiger::capture
