// x86-64. See machine.h.
#pragma once

#include <elf.h>

#include <cstdint>

#include "base/check.h"

namespace geiger::interpose::machine {

inline constexpr std::uint64_t kJumpSlot = R_X86_64_JUMP_SLOT;
inline constexpr std::uint64_t kGlobalData = R_X86_64_GLOB_DAT;
inline constexpr std::uint64_t kAbsolute = R_X86_64_64;

/// A jump can read its target from memory.
template <class Function>
GEIGER_FAST_PATH Function* for_jump(Function* function) {
  return function;
}

}  // namespace geiger::interpose::machine
