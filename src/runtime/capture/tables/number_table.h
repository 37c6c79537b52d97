// 64-bit hash -> 32-bit number, never 0: the records of stacks, the ids of names.
// Insert-only. A collision of two among a million hashes has probability 3e-8.
//
// Threads / Signals: lock-free; if two threads insert the same hash at once, one of them wins.
// Fork: the child keeps its copy, or resets it. Allocates: pages from the kernel when it grows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace geiger::capture {

class NumberTable {
 public:
  /// `first_slots`: size of the first table, which the first insert() allocates; a power of two.
  constexpr explicit NumberTable(std::size_t first_slots) : first_slots_(first_slots) {}

  /// The number of this hash, 0 if it has none yet.
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const;

  /// Stores a number, or does nothing without memory.
  void insert(std::uint64_t hash, std::uint32_t number);

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
  /// Calls visit(number) for each number.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const Table* table = newest_.load(std::memory_order_acquire); table != nullptr;
         table = table->older) {
      for (std::size_t i = 0; i <= table->mask; ++i) {
        const std::uint32_t number = table->slots[i].number.load(std::memory_order_acquire);
        if (number != 0) visit(number);
      }
    }
  }
#endif

  /// Removes all numbers and returns their memory to the kernel; concurrent look-ups find nothing.
  void wipe();

 private:
  struct Slot {
    std::atomic<std::uint64_t> hash;
    std::atomic<std::uint32_t> number;
  };
  struct Table {
    Table* older;
    std::size_t mask;
    std::atomic<std::size_t> used;
    Slot* slots;
  };

  Table* grow_slow(Table* newest);
  static void insert_into(Table& table, std::uint64_t hash, std::uint32_t number);
  static void copy(const Table& from, Table& to);

  std::size_t first_slots_;
  std::atomic<Table*> newest_{nullptr};
};

}  // namespace geiger::capture
