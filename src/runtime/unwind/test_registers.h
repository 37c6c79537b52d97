// Registers and instructions of the processor for tests that write tables and code by hand.
//
//   kFp kSp kIp    the frame pointer, the stack pointer and the return address, by DWARF's number
//   kSaved         a register that survives calls; kOtherSaved: another
//   kLost          one that does not
//   GEIGER_FP ...  the same for the assembler; GEIGER_AT_FP, GEIGER_AT_SP: DW_OP_breg of it
//   GEIGER_AFTER_CALL   the assembler's directives in a frame that has saved the return address
//                       below the CFA
//   GEIGER_TRAP    an instruction that raises SIGILL, and a return
#pragma once

#include <cstdint>

namespace geiger::unwind {

#if defined(__x86_64__)
inline constexpr std::uint8_t kLost = 0;
inline constexpr std::uint8_t kSaved = 3;
inline constexpr std::uint8_t kFp = 6;
inline constexpr std::uint8_t kSp = 7;
inline constexpr std::uint8_t kOtherSaved = 12;
inline constexpr std::uint8_t kIp = 16;
#define GEIGER_LOST "0"
#define GEIGER_SAVED "3"
#define GEIGER_FP "6"
#define GEIGER_SP "7"
#define GEIGER_OTHER_SAVED "12"
#define GEIGER_IP "16"
#define GEIGER_AT_FP "0x76"
#define GEIGER_AT_SP "0x77"
#define GEIGER_AFTER_CALL ""
#define GEIGER_TRAP "ud2\n\tret"
#elif defined(__aarch64__)
inline constexpr std::uint8_t kLost = 0;
inline constexpr std::uint8_t kSaved = 19;
inline constexpr std::uint8_t kOtherSaved = 20;
inline constexpr std::uint8_t kFp = 29;
inline constexpr std::uint8_t kIp = 30;
inline constexpr std::uint8_t kSp = 31;
#define GEIGER_LOST "0"
#define GEIGER_SAVED "19"
#define GEIGER_OTHER_SAVED "20"
#define GEIGER_FP "29"
#define GEIGER_IP "30"
#define GEIGER_SP "31"
#define GEIGER_AT_FP "0x8d"
#define GEIGER_AT_SP "0x8f"
#define GEIGER_AFTER_CALL ".cfi_offset 30, -8\n"
#define GEIGER_TRAP "udf #0\n\tret"
#else
#error "state this processor's registers"
#endif

/// Call frame instructions and operations with a register in them.
constexpr std::uint8_t at_offset(std::uint8_t number) { return 0x80 | number; }
constexpr std::uint8_t restored(std::uint8_t number) { return 0xc0 | number; }
constexpr std::uint8_t breg(std::uint8_t number) {
  return static_cast<std::uint8_t>(0x70 + number);
}

}  // namespace geiger::unwind
