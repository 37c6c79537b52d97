#include "runtime/unwind/expression.h"

#include <cstddef>

namespace geiger::unwind {
namespace {

enum : std::uint8_t {
  kDeref = 0x06,
  kConst1u = 0x08,
  kConst1s = 0x09,
  kConst2u = 0x0a,
  kConst2s = 0x0b,
  kConst4u = 0x0c,
  kConst4s = 0x0d,
  kConst8u = 0x0e,
  kConst8s = 0x0f,
  kConstu = 0x10,
  kConsts = 0x11,
  kAnd = 0x1a,
  kMinus = 0x1c,
  kPlus = 0x22,
  kPlusUconst = 0x23,
  kShl = 0x24,
  kGe = 0x2a,
  kLit0 = 0x30,
  kLit31 = 0x4f,
  kBreg0 = 0x70,
  kBreg31 = 0x8f,
  kNop = 0x96,
};

class Evaluation {
 public:
  // cppcheck-suppress uninitMemberVar  // stack_ holds values below count_ only.
  Evaluation(const Cursor& code, std::uint64_t pc) : code_(code), pc_(pc) {}

  bool run(Term& result) {
    while (!code_.at_end()) {
      const std::uint8_t opcode = code_.u8();
      if (!execute(opcode) || !code_.ok()) return false;
    }
    if (!code_.ok() || count_ == 0) return false;
    result = stack_[count_ - 1];
    return result.base != dwarf::kNoBase;
  }

 private:
  static constexpr std::size_t kDepth = 8;

  bool execute(std::uint8_t opcode) {
    if (opcode >= kLit0 && opcode <= kLit31) return push_constant(std::int64_t{opcode} - kLit0);
    if (opcode >= kBreg0 && opcode <= kBreg31) return push_register(opcode - kBreg0);
    switch (opcode) {
      case kNop:
        return true;
      case kDeref:
        return load();
      case kPlusUconst:
        return add(static_cast<std::int64_t>(code_.uleb()));
      case kAnd:
      case kMinus:
      case kPlus:
      case kShl:
      case kGe:
        return combine(opcode);
      default:
        return push_operand(opcode);
    }
  }

  bool push_operand(std::uint8_t opcode) {
    switch (opcode) {
      case kConst1u:
        return push_constant(code_.u8());
      case kConst1s:
        return push_constant(code_.fixed<std::int8_t>());
      case kConst2u:
        return push_constant(code_.fixed<std::uint16_t>());
      case kConst2s:
        return push_constant(code_.fixed<std::int16_t>());
      case kConst4u:
        return push_constant(code_.u32());
      case kConst4s:
        return push_constant(code_.fixed<std::int32_t>());
      case kConst8u:
      case kConst8s:
        return push_constant(code_.fixed<std::int64_t>());
      case kConstu:
        return push_constant(static_cast<std::int64_t>(code_.uleb()));
      case kConsts:
        return push_constant(code_.sleb());
      default:
        return false;
    }
  }

  bool push(const Term& term) {
    if (count_ == kDepth) return false;
    stack_[count_++] = term;
    return true;
  }
  bool push_constant(std::int64_t value) { return push(Term{dwarf::kNoBase, false, value, 0}); }
  bool push_register(int dwarf_register) {
    const std::int64_t offset = code_.sleb();
    if (machine::kPushesReturnAddress && dwarf_register == dwarf::kReturnAddress) {
      return push_constant(sum(as_signed(pc_), offset));
    }
    return push(Term{static_cast<std::uint8_t>(dwarf_register), false, offset, 0});
  }

  bool load() {
    if (count_ == 0) return false;
    Term& top = stack_[count_ - 1];
    if (top.base == dwarf::kNoBase || top.is_loaded) return false;
    top.is_loaded = true;
    return true;
  }

  bool add(std::int64_t value) {
    if (count_ == 0) return false;
    Term& top = stack_[count_ - 1];
    std::int64_t& part = top.is_loaded ? top.added : top.offset;
    part = sum(part, value);
    return true;
  }

  bool combine(std::uint8_t opcode) {
    if (count_ < 2) return false;
    Term right = stack_[--count_];
    Term& left = stack_[count_ - 1];
    if (opcode == kPlus && left.base == dwarf::kNoBase) {
      const Term swapped = left;
      left = right;
      right = swapped;
    }
    if (right.base != dwarf::kNoBase) return false;
    if (opcode == kPlus) return add(right.offset);
    if (opcode == kMinus) return add(as_signed(0 - as_unsigned(right.offset)));
    return left.base == dwarf::kNoBase && combine_constants(opcode, left.offset, right.offset);
  }

  static bool combine_constants(std::uint8_t opcode, std::int64_t& left, std::int64_t right) {
    switch (opcode) {
      case kAnd:
        left &= right;
        return true;
      case kGe:
        left = left >= right ? 1 : 0;
        return true;
      default:
        left = right >= 0 && right < 64 ? as_signed(as_unsigned(left) << right) : 0;
        return true;
    }
  }

  // Wrapping, because the operands may be hostile.
  static std::uint64_t as_unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }
  static std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
  static std::int64_t sum(std::int64_t a, std::int64_t b) {
    return as_signed(as_unsigned(a) + as_unsigned(b));
  }

  Cursor code_;
  std::uint64_t pc_;
  Term stack_[kDepth];
  std::size_t count_ = 0;
};

}  // namespace

bool evaluate(const Cursor& code, std::uint64_t pc, Term& result) {
  return Evaluation(code, pc).run(result);
}

}  // namespace geiger::unwind
