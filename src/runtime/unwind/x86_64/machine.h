// x86-64, System V ABI. See machine.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace geiger::unwind {

struct FoundRow;

namespace dwarf {
inline constexpr std::uint8_t kRbx = 3;
inline constexpr std::uint8_t kFramePointer = 6;
inline constexpr std::uint8_t kStackPointer = 7;
inline constexpr std::uint8_t kR12 = 12;
inline constexpr std::uint8_t kR15 = 15;
inline constexpr std::uint8_t kReturnAddress = 16;
}  // namespace dwarf

enum class Slot : std::uint8_t {
  kRbx,
  kFramePointer,
  kR12,
  kR13,
  kR14,
  kR15,
  kReturnAddress,
  kCount,
  kNone
};

[[nodiscard]] constexpr Slot slot_of(std::uint64_t dwarf_register) {
  switch (dwarf_register) {
    case dwarf::kRbx:
      return Slot::kRbx;
    case dwarf::kFramePointer:
      return Slot::kFramePointer;
    case dwarf::kReturnAddress:
      return Slot::kReturnAddress;
    default:
      break;
  }
  if (dwarf_register < dwarf::kR12 || dwarf_register > dwarf::kR15) return Slot::kNone;
  return static_cast<Slot>(static_cast<std::uint64_t>(Slot::kR12) + dwarf_register - dwarf::kR12);
}

namespace machine {

inline constexpr bool kPushesReturnAddress = true;
inline constexpr bool kFollowsCode = true;

[[nodiscard]] constexpr std::uint64_t stripped(std::uint64_t address) { return address; }

[[nodiscard]] constexpr bool is_no_operation(std::uint8_t /*call_frame_instruction*/) {
  return false;
}

/// `pc` is in the instruction before the one to return to. glibc has a table for it.
[[nodiscard]] bool find_signal_return(std::uint64_t pc, bool is_in_module, FoundRow& found);

/// No register contains the return address.
template <class Machine>
[[nodiscard]] constexpr std::uint64_t link_of(const Machine& /*here*/) {
  return 0;
}
template <class Machine>
constexpr void forget_link(Machine& /*here*/) {}

#define GEIGER_STORE_REGISTER(name, target) asm volatile("mov %%" name ", %0" : "=m"(target))

/// `here` has sp, ip, and the others by slot.
template <class Machine>
[[gnu::always_inline]] inline void store_registers(Machine& here) {
  GEIGER_STORE_REGISTER("rsp", here.sp);
  GEIGER_STORE_REGISTER("rbx", here[Slot::kRbx]);
  GEIGER_STORE_REGISTER("rbp", here[Slot::kFramePointer]);
  GEIGER_STORE_REGISTER("r12", here[Slot::kR12]);
  GEIGER_STORE_REGISTER("r13", here[Slot::kR13]);
  GEIGER_STORE_REGISTER("r14", here[Slot::kR14]);
  GEIGER_STORE_REGISTER("r15", here[Slot::kR15]);
  asm volatile("lea 0(%%rip), %0" : "=r"(here.ip));
}

#undef GEIGER_STORE_REGISTER

/// The frame pointer points to its saved value, directly below the return address.
GEIGER_FAST_PATH std::uint64_t stack_pointer_after() {
  return reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) + 16;
}

}  // namespace machine
}  // namespace geiger::unwind
