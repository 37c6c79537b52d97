#include "runtime/capture/filter.h"

namespace geiger::capture {

bool Filter::is_too_small(std::size_t live) const {
  const std::size_t slots = mask_.load(std::memory_order_relaxed) + 1;
  const std::size_t wanted = live * kSlotsPerSample;
  if (wanted <= slots || slots == kMostSlots) return false;
  const bool is_growing = next_.load(std::memory_order_relaxed) >= slots;
  return !is_growing || wanted > slots * 2;
}

void Filter::add(const void* address) {
  const std::size_t next = next_.load(std::memory_order_seq_cst);
  std::size_t mask = mask_.load(std::memory_order_relaxed);
  mark(address, mask);
  while (mask < next) mark(address, mask = enlarged(mask));
}

void Filter::mark(const void* address, std::size_t mask) {
  std::atomic<std::uint8_t>& marks = slots_[slot_of(address, mask)];
  std::uint8_t seen = marks.load(std::memory_order_relaxed);
  while (seen != kUncounted &&
         !marks.compare_exchange_weak(seen, static_cast<std::uint8_t>(seen + 1),
                                      std::memory_order_relaxed)) {
  }
}

void Filter::remove(const void* address, std::size_t mask) {
  std::atomic<std::uint8_t>& marks = slots_[slot_of(address, mask)];
  std::uint8_t seen = marks.load(std::memory_order_relaxed);
  while (seen != kUncounted && seen != 0 &&
         !marks.compare_exchange_weak(seen, static_cast<std::uint8_t>(seen - 1),
                                      std::memory_order_relaxed)) {
  }
}

/// Never lowers `next`: a growth that was overtaken must not hide the later one.
void Filter::announce(std::size_t next) {
  std::size_t seen = next_.load(std::memory_order_seq_cst);
  while (seen < next && !next_.compare_exchange_weak(seen, next, std::memory_order_seq_cst)) {
  }
}

}  // namespace geiger::capture
