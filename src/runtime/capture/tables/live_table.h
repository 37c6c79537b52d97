// The exact set of live samples: address -> sample. The byte filter in front of it answers "no" or
// "maybe"; this table has the exact answer.
//
// A list of tables, newest first, each twice the size of the next; only the first is smaller, an
// eighth of the second. Entries never move. An insertion goes to the newest table that has room; a
// larger table is added in front only when all are 5/8 full. So n entries take between 29 n and 59
// n bytes (or 144 KiB), however long they have been replacing each other. An empty table returns
// its pages to the kernel and is used again when the others are full.
//
// Within a table an address hashes to a bucket of 7 slots; if they are taken it goes to a following
// bucket, and every bucket it passes counts it in `overflow`, so a look-up continues exactly while
// overflow != 0. There are no tombstones: slots of a bucket have no order, and a freed slot is
// simply empty.
//
// This is correct without locks: an address is live at most once, and take(p) runs in the thread
// that owns p, with the insertion of p happening before it. So slots of other addresses may change
// during a look-up, the slot of p may not.
//
// Giving back: `used` counts an entry from before the first write of its insertion until after the
// last write of its removal. So 0 -> kGivingBack proves that no thread writes, and keeps insertions
// out until the pages are gone and `used` is kGiven. A look-up in between finds nothing, as before
// and after. A thread that never returns from there (a jump out of a handler, a fork in another
// thread) costs only that table.
//
// Threads / Signals: lock-free. Fork: the child keeps its copy; values contain the image they
// belong to. Allocates: pages from the kernel when it grows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace geiger::capture {

class LiveTable {
 public:
  constexpr LiveTable() = default;

  /// Inserts an address that is not in the table. False: out of memory.
  bool insert(std::uint64_t address, std::uint64_t value);

  /// Prefetches the bucket that insert(address, ...) will look at.
  void prefetch(std::uint64_t address) const;

  /// Removes an address and returns its value, 0 if it is not there. Values are
  /// never 0 and
  /// never all ones.
  std::uint64_t take(std::uint64_t address);

  /// Replaces an entry's value if it is still `value`. False: it was taken meanwhile.
  bool exchange(std::uint64_t address, std::uint64_t value, std::uint64_t with);

  /// Removes the entries for which `is_to_go(address, value)`, and calls forget(address, value) for
  /// each. If an address is taken, allocated and inserted again between two instructions here, its
  /// entry is lost: its end is then noticed when the allocator returns the address again.
  template <typename Test, typename Forget>
  void remove_if(const Test& is_to_go, const Forget& forget) {
    for (Table* table = newest_.load(std::memory_order_acquire); table != nullptr;
         table = table->older) {
      if (is_empty(*table)) continue;
      for (std::size_t i = 0; i <= table->mask; ++i) {
        for (std::size_t slot = 0; slot < kSlots; ++slot) {
          const auto [address, value] = entry_at(table->buckets[i], slot);
          if (address == 0 || value == 0 || !is_to_go(address, value)) continue;
          if (remove_entry(*table, i, slot, address, value)) forget(address, value);
        }
      }
    }
  }

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
  /// Whether each entry is counted and can be found. For when no other thread is in the table.
  [[nodiscard]] bool is_whole() const;
#endif

  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  /// Calls visit(address, value) for the entries: all whose insert() ended before this began (both
  /// access the count sequentially consistently), unless taken meanwhile, and perhaps later ones.
  /// The value is 0 while another thread inserts or removes the entry, else the entry's own.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    if (size_.load(std::memory_order_seq_cst) == 0) return;
    for (const Table* table = newest_.load(std::memory_order_acquire); table != nullptr;
         table = table->older) {
      if (is_empty(*table)) continue;
      for (std::size_t i = 0; i <= table->mask; ++i) {
        for (std::size_t slot = 0; slot < kSlots; ++slot) {
          const auto [address, value] = entry_at(table->buckets[i], slot);
          if (address != 0) visit(address, value);
        }
      }
    }
  }

 private:
  static constexpr std::size_t kSlots = 7;
  /// The value of an entry that remove_if() is removing; never used otherwise.
  static constexpr std::uint64_t kLeaving = ~std::uint64_t{0};
  struct alignas(64) Bucket {
    std::atomic<std::uint64_t> overflow;
    std::atomic<std::uint64_t> addresses[kSlots];
    std::atomic<std::uint64_t> values[kSlots];
    std::uint64_t unused;
  };
  struct Entry {
    std::uint64_t address, value;
  };
  struct Table {
    Table* older;
    std::size_t mask;                  ///< Buckets - 1; a power of two minus one.
    std::atomic<std::size_t> used;     ///< Entries, or one of the two marks below.
    std::atomic<std::size_t> touched;  ///< Insertions since its pages were given back.
    Bucket* buckets;
  };
  static constexpr std::size_t kGivingBack = ~std::size_t{0};
  static constexpr std::size_t kGiven = kGivingBack - 1;

  /// A thread that looks up its own address sees a count at least as new as the insertion.
  static bool is_empty(const Table& table) {
    const std::size_t used = table.used.load(std::memory_order_relaxed);
    return used == 0 || used >= kGiven;
  }

  Table* grow_slow(Table* newest);
  static bool reserve(Table& table);
  static Table* with_room(Table* newest);
  static Table* reopened(Table* newest);
  static void give_back_slow(Table& table);
  static bool insert_into(Table& table, std::uint64_t address, std::uint64_t value);
  bool remove_entry(Table& table, std::size_t bucket, std::size_t slot, std::uint64_t address,
                    std::uint64_t value);
  static void leave(Table& table, std::size_t bucket, std::uint64_t address);
  static std::size_t slot_of(const Bucket& bucket, std::uint64_t address);
  static Entry entry_at(const Bucket& bucket, std::size_t slot);
  static std::uint64_t take_slot(Bucket& bucket, std::size_t slot, std::uint64_t address);
  static std::uint64_t take_from(Table& table, std::uint64_t address);

  std::atomic<Table*> newest_{nullptr};
  std::atomic<std::size_t> size_{0};
};

}  // namespace geiger::capture
