// What an instruction of x86-64 does to values in general registers, by Zydis: as much as
// following one pointer takes. Whatever is rare ends the look at the code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "base/units.h"

namespace geiger::symbolize {

/// General registers by their number in instructions: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi,
/// r8 to r15.
inline constexpr std::uint8_t kRax = 0, kRcx = 1, kRdx = 2, kRsp = 4, kRbp = 5, kRsi = 6, kRdi = 7;
inline constexpr std::uint8_t kNoRegister = 0xff;
inline constexpr std::size_t kRegisters = 16;

/// [base + displacement], where `is_plain`; else an address that is not looked into.
struct MemoryOperand {
  std::uint8_t base = kNoRegister;
  std::int64_t displacement = 0;
  bool is_plain = false;
};

struct Instruction {
  enum class Kind : std::uint8_t {
    kOther,   ///< Changes the registers in `changed`, and `stored` bytes at `memory`.
    kMove,    ///< to = from, all 64 bits.
    kLoad,    ///< to = 8 bytes at `memory`.
    kStore,   ///< 8 bytes at `memory` = from.
    kLea,     ///< to = base + displacement of `memory`, if plain.
    kAdd,     ///< to += value.
    kPush,    ///< The stack grows by 8 bytes.
    kPop,     ///< to = 8 bytes off the stack.
    kCall,    ///< Of `target`; 0 = not known before it runs.
    kJump,    ///< To `target`.
    kBranch,  ///< To `target` or on.
    kEnd,     ///< Nothing follows: ret, ud2, an indirect jump.
  };
  Kind kind = Kind::kOther;
  std::uint8_t length = 0;
  std::uint8_t to = kNoRegister;
  std::uint8_t from = kNoRegister;
  std::uint16_t changed = 0;  ///< A bit for each register that no longer holds what it did.
  MemoryOperand memory;
  std::uint8_t stored = 0;  ///< At most.
  std::int64_t value = 0;
  Address target = 0;
};

/// The bytes of a module's code from an ELF vaddr on; none outside.
using CodeAt = std::function<std::span<const std::uint8_t>(Address)>;

/// The instruction at the start of `code`, which lies at `address`. Nothing where it is cut
/// off, no instruction, or does what cannot be said so.
[[nodiscard]] std::optional<Instruction> decode_x86(std::span<const std::uint8_t> code,
                                                    Address address);

}  // namespace geiger::symbolize
