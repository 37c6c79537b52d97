// The exact set of live samples: address -> sample. The byte filter in front of it answers "no" or
// "maybe"; this table has the exact answer.
//
// A list of tables, newest first, each twice the size of the next; only the first is
// smaller, an eighth of the second. Entries never move. An insertion goes to the newest
// table that has room, and a larger one is put in front only when all are full to 5/8:
// then n entries take between 29 n and 59 n bytes (or 144 KiB), however long they have
// been replacing each other. A table that has emptied gives its pages back and is used
// again when the others are full.
//
// Within a table an address hashes to a bucket of 7 slots; if they are taken it goes
// to a following bucket and every bucket passed counts it in `overflow`, so a look-up
// goes on exactly while overflow != 0. No tombstones: slots of a bucket have no
// order, a freed slot is simply empty.
//
// Why that is right without locks: an address is live at most once, and take(p)
// runs in the thread that owns p after the insertion of p happened before it. So
// slots of other addresses may change under a look-up, the slot of p may not.
//
// Giving back: `used` counts entries from before their insertion writes until after their removal
// wrote last. So 0 -> kGivingBack proves that no thread writes, and keeps insertions out until the
// pages are gone and it is kGiven. A look-up in between finds what it would find before and after:
// nothing. A thread that never comes back from there (a jump out of a handler, a fork in another
// thread) costs the one table.
//
// Threads / Signals: lock-free. Fork: the child keeps its copy; values carry the
// image they belong to. Allocates: pages from the kernel when it grows.
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

  /// Brings the place where insert(address, ...) is about to look near the processor.
  void prefetch(std::uint64_t address) const;

  /// Removes an address and returns its value, 0 if it is not there. Values are
  /// never 0 and
  /// never all ones.
  std::uint64_t take(std::uint64_t address);

  /// Gives an entry another value if it still has this one. False: it was taken meanwhile.
  bool exchange(std::uint64_t address, std::uint64_t value, std::uint64_t with);

  /// Removes the entries for which `is_to_go(address, value)`, and tells forget(address, value). An
  /// address whose owner takes it, allocates it again and inserts it while its entry is
  /// between two instructions here would be lost: its end is then seen when the allocator
  /// returns it once more.
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
  /// Whether each entry is counted and found again, while no other thread is in here.
  [[nodiscard]] bool is_whole() const;
#endif

  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  /// Calls visit(address, value) with what is in the table: each whose insert() ended
  /// before this began (both touch the count sequentially consistently), unless taken
  /// meanwhile, and perhaps later ones. The value is 0 while an insertion of another
  /// thread or a removal is under way, else the address's own.
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
  /// The value of an entry that remove_if() is about to remove; no other has it.
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

  /// A thread that asks for an address of its own finds a count at least as new as the insertion.
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
