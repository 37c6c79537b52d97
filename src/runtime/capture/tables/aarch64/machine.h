// AArch64. See machine.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace geiger::capture::machine {

/// Adding -size carries unless the size is larger than the counter, or 0. A load, an addition and a
/// store: a signal may arrive in between, and if its handler allocates, the store undoes the
/// handler's subtraction. Each such signal changes the total by at most two
/// sampling intervals (docs/internals/estimators.md, section 2.3). An exclusive load and store,
/// which a signal would make fail, would be exact, but cost every allocation two instructions and
/// the loop.
GEIGER_FAST_PATH bool exhausts(std::uint64_t& counter, std::uint64_t size) {
  std::uint64_t left = 0;
  bool is_used_up = false;
  asm("adds %0, %2, %3" : "=r"(left), "=@cccc"(is_used_up) : "r"(counter), "r"(-size));
  counter = left;
  return is_used_up;
}

/// The byte is loaded like a relaxed atomic. Compilers would mask the address before the load and
/// extend the byte after it.
template <unsigned kLog2BlockBytes, unsigned kLog2Slots, class Byte>
GEIGER_FAST_PATH bool is_slot_used(const Byte* table, const void* address) {
  std::uint64_t slot = 0;
  std::uint32_t count = 0;
  asm("ubfx %0, %1, %2, %3" : "=r"(slot) : "r"(address), "i"(kLog2BlockBytes), "i"(kLog2Slots));
  asm("ldrb %w0, %1" : "=r"(count) : "m"(table[slot]));
  return count != 0;
}

}  // namespace geiger::capture::machine
