// x86-64. See machine.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace geiger::capture::machine {

/// Adding -size carries unless the size is larger than the counter, or 0. One instruction reads,
/// adds and stores, so a signal cannot arrive in between. The multiplication negates into another
/// register, where a compiler uses two instructions.
GEIGER_FAST_PATH bool exhausts(std::uint64_t& counter, std::uint64_t size) {
  std::uint64_t negated = 0;
  bool is_used_up = false;
  asm("imulq $-1, %1, %0" : "=r"(negated) : "r"(size) : "cc");
  asm volatile("addq %2, %0" : "+m"(counter), "=@ccnc"(is_used_up) : "r"(negated));
  return is_used_up;
}

/// A multiplication drops the high bits and moves to another register in one instruction, where a
/// compiler uses a copy and a shift; compilers also do not fold atomic loads into comparisons.
template <unsigned kLog2BlockBytes, unsigned kLog2Slots, class Byte>
GEIGER_FAST_PATH bool is_slot_used(const Byte* table, const void* address) {
  constexpr unsigned kHighBits = 32 - kLog2Slots - kLog2BlockBytes;
  std::uint32_t slot = 0;
  bool is_marked = false;
  asm("imull %2, %k1, %0" : "=r"(slot) : "r"(address), "i"(1U << kHighBits) : "cc");
  slot >>= 32 - kLog2Slots;
  asm("cmpb $0, %1" : "=@ccne"(is_marked) : "m"(table[slot]));
  return is_marked;
}

}  // namespace geiger::capture::machine
