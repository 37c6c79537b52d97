#include "runtime/capture/tables/live_table.h"

#include <algorithm>

#include "base/check.h"
#include "runtime/capture/tables/arena.h"

namespace geiger::capture {
namespace {

/// 16 KiB are enough for most programs.
constexpr std::size_t kFirstBuckets = 128;
constexpr std::size_t kLeastGrown = 1024;

std::size_t hash(std::uint64_t address) {
  // Fibonacci hashing; allocations are 16-byte aligned, the product mixes upwards.
  return static_cast<std::size_t>((address >> 4) * 0x9e3779b97f4a7c15U >> 20);
}

}  // namespace

bool LiveTable::insert(std::uint64_t address, std::uint64_t value) {
  GEIGER_ASSERT(address != 0 && value != 0 && value != kLeaving);
  for (;;) {
    Table* newest = newest_.load(std::memory_order_acquire);
    Table* table = with_room(newest);
    if (table == nullptr && (table = reopened(newest)) == nullptr) {
      if (grow_slow(newest) == nullptr) return false;
      continue;
    }
    if (insert_into(*table, address, value)) break;
  }
  size_.fetch_add(1, std::memory_order_seq_cst);  // for_each() relies on this order.
  return true;
}

/// Counts one more entry in advance. False: full, or its pages were given back.
bool LiveTable::reserve(Table& table) {
  const std::size_t limit = (table.mask + 1) * kSlots * 5 / 8;
  std::size_t used = table.used.load(std::memory_order_relaxed);
  // Acquires the pages of a table that was reopened.
  while (used < limit &&
         !table.used.compare_exchange_weak(used, used + 1, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
  }
  return used < limit;
}

/// Reserves a place in the newest table with room; null if there is none.
LiveTable::Table* LiveTable::with_room(Table* newest) {
  Table* table = newest;
  while (table != nullptr && !reserve(*table)) table = table->older;
  return table;
}

/// Reserves a place in the newest table whose pages were given back; null if there is none.
GEIGER_SLOW_PATH LiveTable::Table* LiveTable::reopened(Table* newest) {
  for (Table* table = newest; table != nullptr; table = table->older) {
    std::size_t given = kGiven;
    if (table->used.compare_exchange_strong(given, 1, std::memory_order_acquire)) return table;
  }
  return nullptr;
}

/// Rare: the table's last entry has left.
GEIGER_SLOW_PATH void LiveTable::give_back_slow(Table& table) {
  std::size_t none = 0;
  const bool is_ours =
      table.used.compare_exchange_strong(none, kGivingBack, std::memory_order_acq_rel);
  if (!is_ours) return;
  table.touched.store(0, std::memory_order_relaxed);
  give_back_pages(table.buckets, (table.mask + 1) * sizeof(Bucket));
  table.used.store(kGiven, std::memory_order_release);
}

void LiveTable::prefetch(std::uint64_t address) const {
  const Table* newest = newest_.load(std::memory_order_acquire);
  if (newest == nullptr) return;
  const Bucket& bucket = newest->buckets[hash(address) & newest->mask];
  __builtin_prefetch(&bucket.addresses, 1);
  __builtin_prefetch(&bucket.values, 1);
}

std::uint64_t LiveTable::take(std::uint64_t address) {
  if (address == 0) return 0;  // free(NULL); 0 marks an empty slot.
  for (Table* table = newest_.load(std::memory_order_acquire); table != nullptr;
       table = table->older) {
    if (is_empty(*table)) continue;
    if (const std::uint64_t value = take_from(*table, address); value != 0) {
      size_.fetch_sub(1, std::memory_order_relaxed);
      return value;
    }
  }
  return 0;
}

/// Inserts into a table with a reserved entry. False: no free slot, which is hardly possible.
bool LiveTable::insert_into(Table& table, std::uint64_t address, std::uint64_t value) {
  // Approximate: two threads at once may count one.
  table.touched.store(table.touched.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const std::size_t home = hash(address) & table.mask;
  for (std::size_t step = 0; step <= table.mask; ++step) {
    Bucket& bucket = table.buckets[(home + step) & table.mask];
    for (std::size_t i = 0; i < kSlots; ++i) {
      std::uint64_t empty = 0;
      if (bucket.addresses[i].load(std::memory_order_relaxed) == 0 &&
          bucket.addresses[i].compare_exchange_strong(empty, address, std::memory_order_relaxed)) {
        // With the acquires in entry_at() and take_slot(): a thread that sees the value sees its
        // address.
        bucket.values[i].store(value, std::memory_order_release);
        return true;
      }
    }
    bucket.overflow.fetch_add(1, std::memory_order_relaxed);
  }
  for (std::size_t step = 0; step <= table.mask; ++step) {
    table.buckets[step].overflow.fetch_sub(1, std::memory_order_relaxed);
  }
  table.used.fetch_sub(1, std::memory_order_release);
  return false;
}

/// The slot of an address in a bucket, kSlots if none. Unrolled, because all false positives of the
/// filter get here.
[[gnu::always_inline]] inline std::size_t LiveTable::slot_of(const Bucket& bucket,
                                                             std::uint64_t address) {
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kSlots; ++i) {
    if (bucket.addresses[i].load(std::memory_order_relaxed) == address) [[unlikely]]
      return i;
  }
  return kSlots;
}

/// Reads a slot that may change meanwhile. An insertion writes the value last, a removal clears it
/// first, so a value that is the same before and after the address was read belongs to it. (In
/// aggregated recordings entries share values: then the slot may have had another value in between,
/// and has this one again.) Otherwise it is read again: an entry whose value is being exchanged is
/// there all the time.
LiveTable::Entry LiveTable::entry_at(const Bucket& bucket, std::size_t slot) {
  std::uint64_t value = bucket.values[slot].load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t address = bucket.addresses[slot].load(std::memory_order_acquire);
    const std::uint64_t after = bucket.values[slot].load(std::memory_order_acquire);
    if (after == value) return {address, value != kLeaving ? value : 0};
    value = after;
  }
}

/// 0: the entry is being removed, or was removed.
std::uint64_t LiveTable::take_slot(Bucket& bucket, std::size_t slot, std::uint64_t address) {
  for (;;) {
    std::uint64_t value = bucket.values[slot].load(std::memory_order_acquire);
    // remove_entry() clears and uncounts an entry that it has begun to remove, and another address
    // may have taken the slot since.
    const bool is_there = value != 0 && value != kLeaving &&
                          bucket.addresses[slot].load(std::memory_order_relaxed) == address;
    if (!is_there) return 0;
    // 0 before the slot is free: entry_at() never sees it under the next address. Where it fails,
    // the entry was exchanged meanwhile, and is still there, or begun to be removed.
    if (!bucket.values[slot].compare_exchange_strong(value, 0, std::memory_order_relaxed)) continue;
    bucket.addresses[slot].store(0, std::memory_order_release);
    return value;
  }
}

std::uint64_t LiveTable::take_from(Table& table, std::uint64_t address) {
  const std::size_t home = hash(address) & table.mask;
  for (std::size_t step = 0; step <= table.mask; ++step) {
    const std::size_t at = (home + step) & table.mask;
    Bucket& bucket = table.buckets[at];
    if (const std::size_t slot = slot_of(bucket, address); slot != kSlots) {
      const std::uint64_t value = take_slot(bucket, slot, address);
      if (value != 0) leave(table, at, address);
      return value;
    }
    if (bucket.overflow.load(std::memory_order_relaxed) == 0) return 0;
  }
  return 0;
}

/// Uncounts an entry that was in `bucket`; the last one also gives back the table's pages. If only
/// few insertions touched the pages, that is not worth a system call.
void LiveTable::leave(Table& table, std::size_t bucket, std::uint64_t address) {
  for (std::size_t at = hash(address) & table.mask; at != bucket; at = (at + 1) & table.mask) {
    table.buckets[at].overflow.fetch_sub(1, std::memory_order_relaxed);
  }
  const bool is_last = table.used.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (is_last && table.touched.load(std::memory_order_relaxed) > table.mask) [[unlikely]]
    give_back_slow(table);
}

bool LiveTable::remove_entry(Table& table, std::size_t bucket, std::size_t slot,
                             std::uint64_t address, std::uint64_t value) {
  std::atomic<std::uint64_t>& values = table.buckets[bucket].values[slot];
  std::atomic<std::uint64_t>& addresses = table.buckets[bucket].addresses[slot];
  if (!values.compare_exchange_strong(value, kLeaving, std::memory_order_relaxed)) return false;
  std::uint64_t seen = address;
  // With the acquire in entry_at(): a thread that sees the next address here does not see the last
  // value. The exchange that stores that address continues this release sequence.
  const bool is_ours = addresses.compare_exchange_strong(seen, 0, std::memory_order_release,
                                                         std::memory_order_relaxed);
  std::uint64_t leaving = kLeaving;
  // Not ours: another address has taken the slot, and its entry has the same value.
  values.compare_exchange_strong(leaving, is_ours ? 0 : value, std::memory_order_relaxed);
  if (!is_ours) return false;
  leave(table, bucket, address);
  size_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

bool LiveTable::exchange(std::uint64_t address, std::uint64_t value, std::uint64_t with) {
  for (Table* table = newest_.load(std::memory_order_acquire); table != nullptr;
       table = table->older) {
    if (is_empty(*table)) continue;
    for (std::size_t step = 0; step <= table->mask; ++step) {
      Bucket& bucket = table->buckets[(hash(address) + step) & table->mask];
      const std::size_t slot = slot_of(bucket, address);
      std::uint64_t expected = value;
      if (slot != kSlots &&
          bucket.values[slot].compare_exchange_strong(expected, with, std::memory_order_release)) {
        return true;
      }
      if (bucket.overflow.load(std::memory_order_relaxed) == 0) break;
    }
  }
  return false;
}

GEIGER_SLOW_PATH LiveTable::Table* LiveTable::grow_slow(Table* newest) {
  const std::size_t buckets =
      newest == nullptr ? kFirstBuckets : std::max((newest->mask + 1) * 2, kLeastGrown);
  auto* table = static_cast<Table*>(arena_allocate(sizeof(Table)));
  if (table == nullptr) return nullptr;
  table->buckets = static_cast<Bucket*>(map_table(buckets * sizeof(Bucket)));
  if (table->buckets == nullptr) return nullptr;
  table->mask = buckets - 1;
  table->older = newest;
  // Losing the race wastes one table.
  newest_.compare_exchange_strong(newest, table, std::memory_order_acq_rel);
  return table;
}

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
bool LiveTable::is_whole() const {
  std::size_t all = 0;
  for (const Table* table = newest_.load(std::memory_order_acquire); table != nullptr;
       table = table->older) {
    if (table->used.load(std::memory_order_relaxed) >= kGiven) continue;
    std::size_t entries = 0;
    for (std::size_t i = 0; i <= table->mask; ++i) {
      for (const std::atomic<std::uint64_t>& slot : table->buckets[i].addresses) {
        const std::uint64_t address = slot.load(std::memory_order_relaxed);
        if (address == 0) continue;
        ++entries;
        for (std::size_t at = hash(address) & table->mask; at != i; at = (at + 1) & table->mask) {
          if (table->buckets[at].overflow.load(std::memory_order_relaxed) == 0) return false;
        }
      }
    }
    if (entries != table->used.load(std::memory_order_relaxed)) return false;
    all += entries;
  }
  return all == size();
}
#endif

}  // namespace geiger::capture
