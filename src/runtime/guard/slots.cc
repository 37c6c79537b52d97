#include "runtime/guard/slots.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/raw_syscall.h"
#include "runtime/capture/tables/arena.h"

namespace geiger::guard {

constinit Range range{};

namespace {

using base::raw_syscall;

/// Not 0, the byte that programs most often write after the end of a string. If the C library's
/// free interprets it as the size of a block, it refuses the block.
constexpr unsigned char kFilling = 0xc6;

constexpr std::size_t kPages = 2 * kSlots + 1;

enum class Opening : std::uint32_t { kNotYet = 0, kUnderWay, kOpen, kRefused };
constinit std::atomic<Opening> opening{Opening::kNotYet};

constinit std::size_t page_bytes = 0;
constinit Slot* slots = nullptr;
constinit Queue<kSlots> free_slots{};

/// Replaces the mapping instead of calling mprotect and madvise: every allocator calls mmap, so
/// programs that restrict their system calls allow it.
bool remap(void* at, std::size_t bytes, int protection) {
  return !base::is_error(
      raw_syscall(SYS_mmap, reinterpret_cast<long>(at), static_cast<long>(bytes), protection,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
}

bool map_all() {
  page_bytes = getauxval(AT_PAGESZ);
  void* table = capture::map_pages(kSlots * sizeof(Slot));
  void* pages = table == nullptr ? nullptr : capture::map_pages(kPages * page_bytes);
  if (pages == nullptr || !remap(pages, kPages * page_bytes, PROT_NONE)) return false;
  slots = static_cast<Slot*>(table);
  for (std::uint32_t i = 0; i < kSlots; ++i) free_slots.push(i);
  range.start.store(reinterpret_cast<Address>(pages), std::memory_order_relaxed);
  range.bytes.store(kPages * page_bytes, std::memory_order_release);
  return true;
}

Address page_of(const Slot& slot) {
  const auto index = static_cast<std::size_t>(&slot - slots);
  return range.start.load(std::memory_order_relaxed) + (2 * index + 1) * page_bytes;
}

void give_back(const Slot& slot) { free_slots.push(static_cast<std::uint32_t>(&slot - slots)); }

bool protect(const Slot& slot, int protection) {
  return remap(reinterpret_cast<void*>(page_of(slot)), page_bytes, protection);
}

/// Whether [begin, end) is still filled: the first byte is kFilling, and each byte equals the next.
bool is_filled(const unsigned char* begin, const unsigned char* end) {
  if (begin == end) return true;
  return *begin == kFilling &&
         memcmp(begin, begin + 1, static_cast<std::size_t>(end - begin) - 1) == 0;
}

/// How far an address is from a slot's object.
std::uint64_t distance(const Slot& slot, Address address) {
  if (!is_known(slot)) return ~std::uint64_t{0};
  if (address < slot.object) return slot.object - address;
  return address < slot.object + slot.bytes ? 0 : address - (slot.object + slot.bytes) + 1;
}

Slot* nearer(Slot& left, Slot& right, Address address) {
  const std::uint64_t to_left = distance(left, address);
  const std::uint64_t to_right = distance(right, address);
  if (to_left != to_right) return to_left < to_right ? &left : &right;
  if (to_left == ~std::uint64_t{0}) return nullptr;
  return left.state.load(std::memory_order_relaxed) == SlotState::kLive ? &left : &right;
}

}  // namespace

bool open_slots() {
  Opening seen = opening.load(std::memory_order_acquire);
  if (seen == Opening::kNotYet && opening.compare_exchange_strong(seen, Opening::kUnderWay)) {
    seen = map_all() ? Opening::kOpen : Opening::kRefused;
    opening.store(seen, std::memory_order_release);
  }
  return seen == Opening::kOpen;
}

Slot* all_slots() { return slots; }

bool fits(std::size_t bytes, std::size_t alignment) {
  return bytes != 0 && bytes <= page_bytes && alignment <= page_bytes;
}

Slot* take_slot() {
  std::uint32_t index = 0;
  if (!free_slots.pop(index)) return nullptr;
  slots[index].state.store(SlotState::kTaken, std::memory_order_seq_cst);
  return &slots[index];
}

bool prepare(Slot& slot, std::size_t bytes, std::size_t alignment, Side side) {
  if (!protect(slot, PROT_READ | PROT_WRITE)) {
    slot.state.store(SlotState::kUnused, std::memory_order_relaxed);
    give_back(slot);
    return false;
  }
  const Address page = page_of(slot);
  const std::size_t multiple =
      std::max(alignment, side == Side::kEnd ? std::size_t{1} : kLeastAlignment);
  const std::size_t behind = side == Side::kLeft ? 0 : page_bytes - bytes;
  slot.object = page + behind / multiple * multiple;
  slot.bytes = bytes;
  memset(reinterpret_cast<void*>(page), kFilling, page_bytes);
  return true;
}

void publish(Slot& slot, void* block) {
  slot.block = block;
  slot.allocated = {};
  slot.freed = {};
  slot.state.store(SlotState::kLive, std::memory_order_seq_cst);
}

Slot* slot_of(const void* object) {
  const auto address = reinterpret_cast<Address>(object);
  const std::size_t page = (address - range.start.load(std::memory_order_relaxed)) /
                           std::max(page_bytes, std::size_t{1});
  if (!owns(object) || page % 2 == 0) return nullptr;
  Slot& slot = slots[page / 2];
  return is_known(slot) && slot.object == address ? &slot : nullptr;
}

Slot* nearest_slot(Address address) {
  if (!owns(reinterpret_cast<const void*>(address))) return nullptr;
  const std::size_t page = (address - range.start.load(std::memory_order_relaxed)) / page_bytes;
  if (page % 2 == 1) return is_known(slots[page / 2]) ? &slots[page / 2] : nullptr;
  Slot& left = slots[page == 0 ? 0 : page / 2 - 1];
  Slot& right = slots[std::min(page / 2, kSlots - 1)];
  return nearer(left, right, address);
}

bool claim(Slot& slot) {
  SlotState live = SlotState::kLive;
  return slot.state.compare_exchange_strong(live, SlotState::kEnding, std::memory_order_acq_rel);
}

void restore(Slot& slot) { slot.state.store(SlotState::kLive, std::memory_order_release); }

Address damage_of(const Slot& slot) {
  const auto* begin = reinterpret_cast<const unsigned char*>(page_of(slot));
  const unsigned char* end = begin + page_bytes;
  const auto* object = reinterpret_cast<const unsigned char*>(slot.object);
  const unsigned char* behind = object + slot.bytes;
  const auto is_changed = [](unsigned char byte) { return byte != kFilling; };
  if (!is_filled(behind, end)) {
    return reinterpret_cast<Address>(std::find_if(behind, end, is_changed));
  }
  if (is_filled(begin, object)) return 0;
  const unsigned char* byte = object - 1;
  while (!is_changed(*byte)) --byte;
  return reinterpret_cast<Address>(byte);
}

void retire(Slot& slot) {
  protect(slot, PROT_NONE);
  slot.state.store(SlotState::kFreed, std::memory_order_seq_cst);
  give_back(slot);
}

}  // namespace geiger::guard
