// One instruction's parts, as far as code.cc needs them.
#pragma once

#include <cstdint>

#include "runtime/unwind/cursor.h"

namespace geiger::unwind::machine {

// Registers as instructions number them.
inline constexpr std::uint8_t kRsp = 4;
inline constexpr std::uint8_t kRbp = 5;
inline constexpr std::uint8_t kRsi = 6;
inline constexpr std::uint8_t kNoRegister = 0xff;

inline constexpr std::uint8_t kInRegister = 3;  // Of ModRM's first two bits.

struct Decoded {
  std::uint8_t opcode = 0;
  bool is_two_byte = false;
  bool is_wide = false;   // 64 bits.
  bool is_short = false;  // 16 bits.
  std::uint8_t rex = 0;
  std::uint8_t mode = 0;
  std::uint8_t reg = 0;  // Or a part of the opcode.
  std::uint8_t rm = 0;
  std::uint8_t base = kNoRegister;  // Of memory at base + displacement.
  std::int64_t displacement = 0;
  std::int64_t immediate = 0;
};

/// False: not understood, or cut off. The lengths of all that compilers emit are known, but of
/// vector extensions (VEX, EVEX).
[[nodiscard]] bool decode(Cursor& code, Decoded& in);

}  // namespace geiger::unwind::machine
