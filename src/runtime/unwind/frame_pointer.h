// The step without a rule: [bp] is the caller's bp, [bp + 8] the return address.
#pragma once

#include <cstdint>

#include "runtime/unwind/machine.h"
#include "runtime/unwind/stack_memory.h"

namespace geiger::unwind {

/// False: bp is not a plausible frame pointer. It must be above sp, the caller's above it (or 0 at
/// the end of the chain), and the return address must be an address of user code. The new sp is
/// exact if calls push the return address (machine.h), else a lower bound.
[[nodiscard]] inline bool step_by_frame_pointer(Registers& at, StackMemory& stack) {
  constexpr std::uint64_t kLowest = 4096;
  constexpr std::uint64_t kHighest = std::uint64_t{1} << 56;
  const std::uint64_t cfa = at.bp + 16;
  std::uint64_t bp = 0;
  std::uint64_t ip = 0;
  if (!stack.is_step(at.sp, cfa) || !stack.read(at.bp, bp) || !stack.read(at.bp + 8, ip)) {
    return false;
  }
  ip = machine::stripped(ip);
  const bool is_chain = bp == 0 || bp > at.bp;
  const bool is_code = ip == 0 || (ip >= kLowest && ip < kHighest);
  if (!is_chain || !is_code) return false;
  at = {ip, cfa, bp};
  return true;
}

}  // namespace geiger::unwind
