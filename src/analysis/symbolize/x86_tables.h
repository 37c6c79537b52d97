// What opcodes of x86-64 write, for x86_code.cc alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace geiger::symbolize::x86 {

/// Bytes that one instruction of the old floating point unit stores: a number, or (fxsave is
/// not among them) a small environment.
inline constexpr std::uint8_t kWidestFloat = 108;
inline constexpr std::uint8_t kWidestVector =
    32;  // Longer ones have a prefix that is not known here.

/// Which operands an opcode writes, as far as they are general registers.
enum Writes : std::uint8_t {
  kNothing = 0,
  kReg = 1,          ///< The register of the ModRM byte.
  kRm = 2,           ///< Its other operand, if a register.
  kAccumulator = 4,  ///< rax and rdx.
  kThird = 8,        ///< VEX.vvvv.
};

/// Opcodes 0f that write a general register: that of the ModRM byte, its other operand.
inline constexpr std::array<std::uint8_t, 13> kWritesReg{0x2c, 0x2d, 0x50, 0xaf, 0xb6, 0xb7, 0xb8,
                                                         0xbc, 0xbd, 0xbe, 0xbf, 0xc5, 0xd7};
inline constexpr std::array<std::uint8_t, 8> kWritesRm{0xa4, 0xa5, 0xab, 0xac,
                                                       0xad, 0xb3, 0xba, 0xbb};
/// Opcodes 0f with a byte behind their operands.
inline constexpr std::array<std::uint8_t, 11> kHasByte{0x70, 0x71, 0x72, 0x73, 0xa4, 0xac,
                                                       0xba, 0xc2, 0xc4, 0xc5, 0xc6};

template <typename Opcodes>
[[nodiscard]] bool is_in(const Opcodes& opcodes, std::uint8_t opcode) {
  return std::ranges::find(opcodes, opcode) != opcodes.end();
}

/// What an opcode 0f stores; 0: as many bytes as its operands have.
inline std::uint8_t width_of(std::uint8_t opcode, bool has_f2, bool has_f3) {
  if (opcode == 0x11 && (has_f3 || has_f2)) return has_f3 ? 4 : 8;
  if (opcode == 0x13 || opcode == 0x17 || opcode == 0xd6 || opcode == 0x7e) return 8;
  const bool is_general = (opcode >= 0x90 && opcode < 0xc2) || opcode == 0xc3;
  if (opcode == 0xae || opcode == 0xc7) return 0xff;  // Saved states.
  return is_general ? 0 : kWidestVector;
}

/// Of opcodes 0f. All others work on vector registers.
inline std::uint8_t writes_of(std::uint8_t opcode, bool has_f3) {
  if (opcode >= 0x40 && opcode <= 0x4f) return kReg;
  if (opcode >= 0x90 && opcode <= 0x9f) return kRm;
  if (is_in(kWritesReg, opcode)) return kReg;
  if (is_in(kWritesRm, opcode)) return kRm;
  if (opcode == 0x7e) return has_f3 ? kNothing : kRm;
  if (opcode == 0xb0 || opcode == 0xb1 || opcode == 0xc7) return kRm | kAccumulator;
  return opcode == 0xc0 || opcode == 0xc1 ? kReg | kRm : kNothing;
}

}  // namespace geiger::symbolize::x86
