// The byte filter in front of the live table: whether an address may be a live sample's. Two tables
// of counts, tested one after the other:
//
//   front   slot(p) = p / 256 mod 2^14         tested first by free: it stays in the
//                                              nearest cache, and its fixed size saves
//                                              the mask
//   wide    slot(p) = p / 256 mod (mask + 1)   tested if the front is marked
//
//   counts[slot] = live samples that fall on it
//
// A slot covers 256 bytes of heap: neighbours share it, but a program's working set touches few
// slots. Addresses further apart collide in the front with probability (live samples) / 2^14, in
// the wide table with (live samples) / (mask + 1), which growing keeps below 1 / 128 up to 8,192
// live samples.
//
// The front's count is raised after an address enters the live table and lowered after it leaves.
// The wide table grows, lock-free. With m = mask and n = next (n >= m, equal unless growing):
//
//   insert: the address enters the live table; then it is marked for every size
//           from m to n
//   grow:   n is published; then all addresses in the live table are marked for n;
//           then n becomes m
//   remove: m is read; the address leaves the live table; one mark is taken back
//           for the m that was read
//
// Invariant: a live sample is marked at least once for every m that a thread which
// may rightly free it can see. (1) m never shrinks and the free comes after the
// insertion, so the freeing thread sees the m of the insertion or a later one. (2) A
// later one was published after a scan of the live table that either found the
// address, or began before the insertion; then the insertion saw n, because the
// table's count and n are sequentially consistent. A superfluous mark (insertion and
// scan both made it, or it belongs to an outgrown size) only costs a look-up.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "runtime/capture/tables/machine.h"

namespace geiger::capture {

/// Empty when zero-initialised; call start() before the first add().
/// Threads / Signals: lock-free. If a thread abandons a growth (a jump out of a handler, a fork in
/// another thread), the thread that inserts when there are twice as many live samples repeats it.
/// Fork: the child keeps its copy.
class Filter {
 public:
  static constexpr unsigned kLog2FrontSlots = 14;
  static constexpr std::size_t kLeastSlots = std::size_t{1} << 12;
  static constexpr std::size_t kMostSlots = std::size_t{1} << 20;
  /// The first size it grows to: smaller tables would not distinguish more than the front.
  static constexpr std::size_t kLeastGrown = std::size_t{1} << 16;
  static constexpr std::size_t kGrowth = 4;
  static constexpr std::size_t kSlotsPerSample = 128;
  static constexpr unsigned kLog2BlockBytes = 8;

  constexpr Filter() = default;

  void start() {
    next_.store(kLeastSlots - 1, std::memory_order_relaxed);
    mask_.store(kLeastSlots - 1, std::memory_order_relaxed);
  }

  /// Populates the pages that it uses at first (base/raw_syscall.h).
  void take_pages();

  /// False: no live sample has this address. The address reached this thread after its insertion,
  /// so relaxed loads suffice in the front.
  [[nodiscard]] GEIGER_FAST_PATH bool maybe_holds(const void* address) const {
    if (__builtin_expect(is_in_front(address), 0)) return is_in_wide(address);
    return false;
  }

  /// The mask to pass to remove(); read it before the address leaves the live table.
  [[nodiscard]] std::size_t mask() const { return mask_.load(std::memory_order_acquire); }

  /// Marks an address that is already in the live table.
  void add(const void* address);

  /// Removes one mark of an address that has left the live table.
  void remove(const void* address, std::size_t mask);

  /// Whether `live` samples are too many for the current size and no thread seems to be enlarging
  /// it.
  [[nodiscard]] bool is_too_small(std::size_t live) const;

  /// Enlarges the filter. `for_each_live` calls its argument with every address in
  /// the live table, after a sequentially consistent load of the table's count.
  template <typename ForEachLive>
  void grow(const ForEachLive& for_each_live) {
    std::size_t mask = mask_.load(std::memory_order_relaxed);
    const std::size_t next = enlarged(mask);
    announce(next);
    for_each_live([this, next](std::uint64_t address, std::uint64_t /*value*/) {
      mark(reinterpret_cast<const void*>(address), next);
    });
    mask_.compare_exchange_strong(mask, next, std::memory_order_release, std::memory_order_relaxed);
  }

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
  /// Whether each slot of the front that has not overflowed counts its live samples.
  template <typename ForEachLive>
  [[nodiscard]] bool counts_all(const ForEachLive& for_each_live) const {
    static constinit std::uint16_t expected[kFrontMask + 1]{};
    for (std::uint16_t& count : expected) count = 0;
    for_each_live([](std::uint64_t address, std::uint64_t /*value*/) {
      ++expected[slot_of(reinterpret_cast<const void*>(address), kFrontMask)];
    });
    for (std::size_t i = 0; i <= kFrontMask; ++i) {
      const std::uint8_t count = front_[i].load(std::memory_order_relaxed);
      if (count != 255 && count != expected[i]) return false;
    }
    return true;
  }
#endif

 private:
  static constexpr std::size_t enlarged(std::size_t mask) {
    return std::clamp((mask + 1) * kGrowth, kLeastGrown, kMostSlots) - 1;
  }
  static std::size_t slot_of(const void* address, std::size_t mask) {
    return reinterpret_cast<std::uintptr_t>(address) >> kLog2BlockBytes & mask;
  }
  [[nodiscard]] GEIGER_FAST_PATH bool is_in_front(const void* address) const {
    return machine::is_slot_used<kLog2BlockBytes, kLog2FrontSlots>(front_, address);
  }
  [[nodiscard]] bool is_in_wide(const void* address) const {
    // With the release in grow(): a thread that sees a larger mask sees the marks that were made
    // for it. The address dependency between the two loads is not an ordering in C++.
    const std::size_t mask = mask_.load(std::memory_order_acquire);
    return wide_[slot_of(address, mask)].load(std::memory_order_relaxed) != 0;
  }

  static constexpr std::size_t kPageBytes = 4096;
  static constexpr std::size_t kFrontMask = (std::size_t{1} << kLog2FrontSlots) - 1;

  void announce(std::size_t next);
  void mark(const void* address, std::size_t mask);

  alignas(kPageBytes) std::atomic<std::uint8_t> front_[kFrontMask + 1]{};
  std::atomic<std::uint8_t> wide_[kMostSlots]{};
  std::atomic<std::size_t> mask_{0};
  std::atomic<std::size_t> next_{0};
};

[[gnu::visibility("hidden")]] extern constinit Filter filter;

}  // namespace geiger::capture
