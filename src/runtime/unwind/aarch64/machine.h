// AArch64, AAPCS64 under Linux. See machine.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace geiger::unwind {

struct FoundRow;

namespace dwarf {
inline constexpr std::uint8_t kX19 = 19;
inline constexpr std::uint8_t kX28 = 28;
inline constexpr std::uint8_t kFramePointer = 29;
inline constexpr std::uint8_t kReturnAddress = 30;
inline constexpr std::uint8_t kStackPointer = 31;
}  // namespace dwarf

enum class Slot : std::uint8_t {
  kX19,
  kX20,
  kX21,
  kX22,
  kX23,
  kX24,
  kX25,
  kX26,
  kX27,
  kX28,
  kFramePointer,
  kLink,  ///< x30 of a frame that a signal interrupted; unknown in others.
  kReturnAddress,
  kCount,
  kNone
};

[[nodiscard]] constexpr Slot slot_of(std::uint64_t dwarf_register) {
  if (dwarf_register == dwarf::kFramePointer) return Slot::kFramePointer;
  if (dwarf_register == dwarf::kReturnAddress) return Slot::kReturnAddress;
  if (dwarf_register < dwarf::kX19 || dwarf_register > dwarf::kX28) return Slot::kNone;
  return static_cast<Slot>(static_cast<std::uint64_t>(Slot::kX19) + dwarf_register - dwarf::kX19);
}

namespace machine {

inline constexpr bool kPushesReturnAddress = false;
inline constexpr bool kFollowsCode = false;

/// Code is in the lower 2^48 bytes, even where programs may ask for more. Signatures and tags are
/// in the bits above and are always removed, so it does not matter whether a row marks an address
/// as signed, nor with which key.
[[nodiscard]] constexpr std::uint64_t stripped(std::uint64_t address) {
  return address & ((std::uint64_t{1} << 48) - 1);
}

/// Both toggle whether the return address is signed after this instruction.
[[nodiscard]] constexpr bool is_no_operation(std::uint8_t call_frame_instruction) {
  constexpr std::uint8_t kNegateRaStateWithPc = 0x2c;
  constexpr std::uint8_t kNegateRaState = 0x2d;
  return call_frame_instruction == kNegateRaState || call_frame_instruction == kNegateRaStateWithPc;
}

/// `pc` is in the instruction before the one to return to, which no table covers.
[[nodiscard]] bool find_signal_return(std::uint64_t pc, bool is_in_module, FoundRow& found);

/// 0: not known.
template <class Machine>
[[nodiscard]] std::uint64_t link_of(const Machine& here) {
  return stripped(here[Slot::kLink]);
}
template <class Machine>
void forget_link(Machine& here) {
  here[Slot::kLink] = 0;
}

#define GEIGER_STORE_REGISTER(name, target) asm volatile("str " name ", %0" : "=m"(target))

/// `here` has sp, ip, and the others by slot.
template <class Machine>
[[gnu::always_inline]] inline void store_registers(Machine& here) {
  asm volatile("mov %0, sp" : "=r"(here.sp));
  GEIGER_STORE_REGISTER("x19", here[Slot::kX19]);
  GEIGER_STORE_REGISTER("x20", here[Slot::kX20]);
  GEIGER_STORE_REGISTER("x21", here[Slot::kX21]);
  GEIGER_STORE_REGISTER("x22", here[Slot::kX22]);
  GEIGER_STORE_REGISTER("x23", here[Slot::kX23]);
  GEIGER_STORE_REGISTER("x24", here[Slot::kX24]);
  GEIGER_STORE_REGISTER("x25", here[Slot::kX25]);
  GEIGER_STORE_REGISTER("x26", here[Slot::kX26]);
  GEIGER_STORE_REGISTER("x27", here[Slot::kX27]);
  GEIGER_STORE_REGISTER("x28", here[Slot::kX28]);
  GEIGER_STORE_REGISTER("x29", here[Slot::kFramePointer]);
  asm volatile("adr %0, ." : "=r"(here.ip));
}

#undef GEIGER_STORE_REGISTER

/// The frame pointer does not determine the end of the frame; clang assumes that it does.
GEIGER_FAST_PATH std::uint64_t stack_pointer_after() {
#if defined(__clang__)
#error "clang cannot tell the end of a frame here: build the runtime with g++"
#else
  return reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa());
#endif
}

}  // namespace machine
}  // namespace geiger::unwind
