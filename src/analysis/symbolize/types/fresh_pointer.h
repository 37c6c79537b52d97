// Where a pointer that a call just returned is, by the x86-64 code behind the call.
#pragma once

#include <libelf.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/units.h"

namespace geiger::symbolize {

// What an instruction of x86-64 does to values in general registers, by Zydis: as much as
// following one pointer takes. Whatever is rare ends the look at the code.

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

// Functions that a module defines and yet calls through its procedure linkage table, as shared
// libraries do where another module may replace them.

/// x86-64 only.
class LinkageTable {
 public:
  explicit LinkageTable(Elf* elf);

  /// The function that the table's entry at `address` jumps to; `address` itself if no entry is
  /// there, or the function is in another module.
  [[nodiscard]] Address function_behind(Address address, const CodeAt& code_at) const;

 private:
  std::unordered_map<Address, Address>
      functions_;  ///< By the address of the pointer that an entry reads.
};

// Where a pointer that a call just returned is while the code after the call runs: in which
// registers, handed to which functions.
//
// A value is only followed while nothing else can have happened to it. Where the code does
// what is not known here, the path ends: what is not seen is not claimed.

/// What each register holds: the pointer plus an offset, or something else.
using PointerOffsets = std::array<std::optional<std::int64_t>, kRegisters>;

/// Before the instruction at `at`.
struct PointerPlace {
  Address at = 0;
  PointerOffsets registers;
};

/// A call that gets the pointer, plus `offset`, as its first argument.
struct PointerCall {
  Address at = 0;
  Address target = 0;
  std::int64_t offset = 0;
};

struct PointerTrail {
  std::vector<PointerPlace> places;
  std::vector<PointerCall> calls;
};

/// Both ways of a branch are followed, up to a number of instructions.
[[nodiscard]] PointerTrail follow_pointer(Address return_address, const CodeAt& code_at);

}  // namespace geiger::symbolize
