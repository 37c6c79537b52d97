// AArch64. See machine.h.
#pragma once

#include <elf.h>

#include <cstdint>

#include "base/check.h"

namespace geiger::interpose::machine {

inline constexpr std::uint64_t kJumpSlot = R_AARCH64_JUMP_SLOT;
inline constexpr std::uint64_t kGlobalData = R_AARCH64_GLOB_DAT;
inline constexpr std::uint64_t kAbsolute = R_AARCH64_ABS64;

/// Otherwise compilers load the address into any register, then move it to one of the two that a
/// jump to a function may use.
template <class Function>
GEIGER_FAST_PATH Function* for_jump(Function* function) {
  register Function* target asm("x16") = function;
  asm("" : "+r"(target));
  return target;
}

}  // namespace geiger::interpose::machine
