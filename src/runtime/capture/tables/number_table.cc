#include "runtime/capture/tables/number_table.h"

#include <algorithm>

#include "base/check.h"
#include "runtime/capture/tables/arena.h"

namespace geiger::capture {
namespace {

constexpr std::size_t kGrowth = 2;
constexpr std::size_t kLeastGrown = 4096;

/// Longest probe: longer runs mean that the table is about to be replaced.
constexpr std::size_t kMaxProbe = 64;

/// 0 marks an empty slot.
std::uint64_t nonzero(std::uint64_t hash) { return hash == 0 ? 1 : hash; }

}  // namespace

std::uint32_t NumberTable::find(std::uint64_t hash) const {
  hash = nonzero(hash);
  for (const Table* table = newest_.load(std::memory_order_acquire); table != nullptr;
       table = table->older) {
    for (std::size_t i = 0; i < kMaxProbe; ++i) {
      const Slot& slot = table->slots[(hash + i) & table->mask];
      const std::uint64_t seen = slot.hash.load(std::memory_order_acquire);
      if (seen == hash) return slot.number.load(std::memory_order_acquire);
      if (seen == 0) break;
    }
  }
  return 0;
}

void NumberTable::insert(std::uint64_t hash, std::uint32_t number) {
  GEIGER_ASSERT(number != 0);
  hash = nonzero(hash);
  Table* newest = newest_.load(std::memory_order_acquire);
  if (newest == nullptr || newest->used.load(std::memory_order_relaxed) > (newest->mask + 1) / 2) {
    newest = grow_slow(newest);
    if (newest == nullptr) return;
  }
  insert_into(*newest, hash, number);
}

void NumberTable::insert_into(Table& table, std::uint64_t hash, std::uint32_t number) {
  for (std::size_t i = 0; i < kMaxProbe; ++i) {
    Slot& slot = table.slots[(hash + i) & table.mask];
    std::uint64_t expected = 0;
    if (slot.hash.compare_exchange_strong(expected, hash, std::memory_order_acq_rel)) {
      table.used.fetch_add(1, std::memory_order_relaxed);
      slot.number.store(number, std::memory_order_release);
      return;
    }
    if (expected == hash) return;
  }
}

/// Copies the first table's numbers, which are mostly the most frequent, so that a single look
/// finds them.
void NumberTable::copy(const Table& from, Table& to) {
  for (std::size_t i = 0; i <= from.mask; ++i) {
    const std::uint64_t hash = from.slots[i].hash.load(std::memory_order_acquire);
    const std::uint32_t number = from.slots[i].number.load(std::memory_order_acquire);
    if (number != 0) insert_into(to, hash, number);
  }
}

void NumberTable::wipe() {
  for (Table* table = newest_.load(std::memory_order_acquire); table != nullptr;
       table = table->older) {
    give_back_pages(table->slots, (table->mask + 1) * sizeof(Slot));
    table->used.store(0, std::memory_order_relaxed);
  }
}

GEIGER_SLOW_PATH NumberTable::Table* NumberTable::grow_slow(Table* newest) {
  const std::size_t slots =
      newest == nullptr ? first_slots_ : std::max((newest->mask + 1) * kGrowth, kLeastGrown);
  auto* table = static_cast<Table*>(arena_allocate(sizeof(Table)));
  if (table == nullptr) return nullptr;
  table->slots = static_cast<Slot*>(map_table(slots * sizeof(Slot)));
  if (table->slots == nullptr) return nullptr;
  table->mask = slots - 1;
  table->older = newest;
  if (newest != nullptr && newest->older == nullptr) copy(*newest, *table);
  if (newest_.compare_exchange_strong(newest, table, std::memory_order_acq_rel)) return table;
  return newest;  // Another thread was faster; this table is wasted.
}

}  // namespace geiger::capture
