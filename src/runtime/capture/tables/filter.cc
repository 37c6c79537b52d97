#include "runtime/capture/tables/filter.h"

#include "base/check.h"
#include "base/raw_syscall.h"

namespace geiger::capture {

constinit Filter filter{};

namespace {

/// A slot whose count overflowed, and which stays marked.
constexpr std::uint8_t kUncounted = 255;

void count_up(std::atomic<std::uint8_t>& slot) {
  std::uint8_t seen = slot.load(std::memory_order_relaxed);
  while (seen != kUncounted &&
         !slot.compare_exchange_weak(seen, static_cast<std::uint8_t>(seen + 1),
                                     std::memory_order_relaxed)) {
  }
}

void count_down(std::atomic<std::uint8_t>& slot) {
  std::uint8_t seen = slot.load(std::memory_order_relaxed);
  while (seen != kUncounted && seen != 0 &&
         !slot.compare_exchange_weak(seen, static_cast<std::uint8_t>(seen - 1),
                                     std::memory_order_relaxed)) {
  }
}

}  // namespace

void Filter::take_pages() { base::populate(front_, sizeof front_ + kLeastSlots); }

bool Filter::is_too_small(std::size_t live) const {
  const std::size_t slots = mask_.load(std::memory_order_relaxed) + 1;
  const std::size_t wanted = live * kSlotsPerSample;
  if (wanted <= slots || slots == kMostSlots) return false;
  const bool is_growing = next_.load(std::memory_order_relaxed) >= slots;
  return !is_growing || wanted > slots * 2;
}

void Filter::add(const void* address) {
  GEIGER_ASSERT(mask_.load(std::memory_order_relaxed) != 0);  // After start().
  count_up(front_[slot_of(address, kFrontMask)]);
  const std::size_t next = next_.load(std::memory_order_seq_cst);
  std::size_t mask = mask_.load(std::memory_order_relaxed);
  mark(address, mask);
  while (mask < next) mark(address, mask = enlarged(mask));
}

void Filter::mark(const void* address, std::size_t mask) {
  count_up(wide_[slot_of(address, mask)]);
}

void Filter::remove(const void* address, std::size_t mask) {
  count_down(wide_[slot_of(address, mask)]);
  count_down(front_[slot_of(address, kFrontMask)]);
}

/// Never lowers `next`: a growth that was overtaken must not hide a later one.
void Filter::announce(std::size_t next) {
  base::populate(wide_, next + 1);
  std::size_t seen = next_.load(std::memory_order_seq_cst);
  while (seen < next && !next_.compare_exchange_weak(seen, next, std::memory_order_seq_cst)) {
  }
}

}  // namespace geiger::capture
