// Bounded reads of the walked stack.
//
// Invariant: every word of [low_, high_) is mapped and readable. On a stack with known bounds it
// extends from the frame where the walk began to the stack's high end. On others it is one page
// that the walk has been on, or that the kernel reported as mapped; it moves with the walk.
#pragma once

#include <cstdint>

#include "runtime/unwind/unwind.h"

namespace geiger::unwind {

/// Whether `address` can be read; a system call. False if the program confines itself.
[[nodiscard]] bool is_readable(std::uint64_t address);

/// Threads: a value of its walk. System calls: see StackBounds.
class StackMemory {
 public:
  /// Largest accepted frame on stacks of unknown extent.
  static constexpr std::uint64_t kMaxStep = std::uint64_t{1} << 20;

  /// `own_frame`: address of a live frame of the walk itself. A stack pointer just above it is on
  /// the same stack and needs no system call.
  StackMemory(const StackBounds& bounds, std::uint64_t own_frame)
      : bounds_(bounds), own_frame_(own_frame) {}

  /// The walk is at `sp`, possibly on another stack than before.
  void enter(std::uint64_t sp);

  /// Whether a frame that begins at `sp` may end at `cfa`. Addresses only grow, so walks terminate.
  [[nodiscard]] bool is_step(std::uint64_t sp, std::uint64_t cfa) const {
    return cfa > sp && cfa % 8 == 0 && cfa - sp <= max_step_;
  }

  /// Whether every word from `sp` up to end() may be read with load().
  [[nodiscard]] bool is_open_from(std::uint64_t sp) const {
    return sp % 8 == 0 && sp >= low_ && sp <= high_;
  }
  [[nodiscard]] std::uint64_t end() const { return high_; }

  /// False: not aligned, or not readable.
  [[gnu::always_inline]] bool read(std::uint64_t address, std::uint64_t& value) {
    if (address % 8 != 0) [[unlikely]] {
      return false;
    }
    if (address - low_ >= high_ - low_) [[unlikely]] {
      if (!move_window(address)) return false;
    }
    value = load(address);
    return true;
  }

  // Reads other functions' frames, which are neither objects for the address sanitizer nor accesses
  // for the thread sanitizer.
  [[gnu::no_sanitize_address, gnu::no_sanitize_thread]] static std::uint64_t load(
      std::uint64_t address) {
    return *reinterpret_cast<const std::uint64_t*>(address);
  }

 private:
  bool move_window(std::uint64_t address);

  StackBounds bounds_;
  std::uint64_t own_frame_;
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
  std::uint64_t max_step_ = 0;
  bool is_known_ = false;
};

}  // namespace geiger::unwind
