#include "runtime/unwind/row.h"

#include "runtime/unwind/expression.h"

namespace geiger::unwind {
namespace {

constexpr std::int64_t kMaxOffset = std::int64_t{1} << 30;

bool is_near(std::int64_t offset) { return offset > -kMaxOffset && offset < kMaxOffset; }

// Call frame instructions; the last three have an operand in their low bits.
enum : std::uint8_t {
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefinedRegister = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffset = 0x2f,
  kAdvanceLoc = 0x40,
  kOffset = 0x80,
  kRestore = 0xc0,
};

}  // namespace

bool RowProgram::run_initial(const Cursor& code) {
  if (!run(code)) return false;
  initial_ = row_;
  return true;
}

// Runs the instructions that make up most programs.
bool RowProgram::run(Cursor code) {
  if (!code.ok()) return false;
  while (!passed_ && !code.at_end()) {
    const std::uint8_t opcode = code.u8();
    const std::uint8_t operand = opcode & 0x3f;
    bool is_known = true;
    if ((opcode & 0xc0) == kAdvanceLoc) {
      is_known = advance(operand);
    } else if ((opcode & 0xc0) == kOffset) {
      is_known = set_place(operand, Place::Kind::kAt, dwarf::kCfa, factored(code.uleb()));
    } else if (opcode == kDefCfaOffset) {
      is_known = set_cfa(row_.cfa.base, static_cast<std::int64_t>(code.uleb()));
    } else if ((opcode & 0xc0) == kRestore) {
      is_known = restore(operand);
    } else {
      is_known = execute_extended(code, opcode);
    }
    if (!is_known || !code.ok()) return false;
  }
  return true;
}

bool RowProgram::execute_extended(Cursor& code, std::uint8_t opcode) {
  switch (opcode) {
    case kNop:
      return true;
    case kGnuArgsSize:
      code.uleb();
      return true;

    case kSetLoc:
      location_ = code.pointer(traits_.pointer_encoding);
      passed_ = location_ > pc_;
      return true;
    case kAdvanceLoc1:
      return advance(code.u8());
    case kAdvanceLoc2:
      return advance(code.fixed<std::uint16_t>());
    case kAdvanceLoc4:
      return advance(code.u32());

    case kRememberState:
      return save_state();
    case kRestoreState:
      return restore_state();
    case kRestoreExtended:
      return restore(code.uleb());

    case kDefCfa:
    case kDefCfaSf:
    case kDefCfaRegister:
    case kDefCfaOffsetSf:
    case kDefCfaExpression:
      return define_cfa(code, opcode);

    case kExpression:
    case kValExpression:
      return set_expression(code, opcode == kValExpression);

    case kOffsetExtended:
    case kOffsetExtendedSf:
    case kGnuNegativeOffset:
    case kValOffset:
    case kValOffsetSf:
      return set_offset(code, opcode);
    case kRegister:
      return set_register(code);
    case kUndefinedRegister:
      return set_place(code.uleb(), Place::Kind::kUndefined, dwarf::kCfa, 0);
    case kSameValue:
      return set_place(code.uleb(), Place::Kind::kSame, dwarf::kCfa, 0);

    default:
      return machine::is_no_operation(opcode);
  }
}

bool RowProgram::define_cfa(Cursor& code, std::uint8_t opcode) {
  if (opcode == kDefCfaExpression) {
    return evaluate(code.take(code.uleb()), pc_, row_.cfa) && is_near(row_.cfa.offset) &&
           is_near(row_.cfa.added);
  }
  const std::uint64_t base = opcode == kDefCfaOffsetSf ? row_.cfa.base : code.uleb();
  if (opcode == kDefCfaRegister) return set_cfa(base, row_.cfa.offset);
  const bool is_factored = opcode != kDefCfa;
  return set_cfa(base, is_factored ? factored(static_cast<std::uint64_t>(code.sleb()))
                                   : static_cast<std::int64_t>(code.uleb()));
}

bool RowProgram::set_offset(Cursor& code, std::uint8_t opcode) {
  const std::uint64_t target = code.uleb();
  const bool is_value = opcode == kValOffset || opcode == kValOffsetSf;
  const bool is_signed = opcode == kOffsetExtendedSf || opcode == kValOffsetSf;
  std::uint64_t offset = is_signed ? static_cast<std::uint64_t>(code.sleb()) : code.uleb();
  if (opcode == kGnuNegativeOffset) offset = -offset;
  return set_place(target, is_value ? Place::Kind::kIs : Place::Kind::kAt, dwarf::kCfa,
                   factored(offset));
}

bool RowProgram::set_register(Cursor& code) {
  const std::uint64_t target = code.uleb();
  const std::uint64_t source = code.uleb();
  return source < dwarf::kCfa &&
         set_place(target, Place::Kind::kIs, static_cast<std::uint8_t>(source), 0);
}

bool RowProgram::advance(std::uint64_t delta) {
  location_ += delta * traits_.code_alignment;
  passed_ = location_ > pc_;
  return true;
}

bool RowProgram::set_place(std::uint64_t dwarf_register, Place::Kind kind, std::uint8_t base,
                           std::int64_t offset) {
  const Slot slot = slot_of(dwarf_register);
  if (slot == Slot::kNone) return true;
  if (!is_near(offset)) return false;
  row_[slot] = Place{kind, base, static_cast<std::int32_t>(offset)};
  return true;
}

// DW_CFA_expression names the address of the saved value, so a term that is itself loaded would be
// loaded twice: no compiler emits that, so it is kUnsupported.
bool RowProgram::set_expression(Cursor& code, bool is_value) {
  const std::uint64_t target = code.uleb();
  Term term{};
  const bool is_known = evaluate(code.take(code.uleb()), pc_, term) && is_near(term.offset);
  if (!is_known || term.added != 0 || (term.is_loaded && !is_value)) {
    return set_place(target, Place::Kind::kUnsupported, dwarf::kCfa, 0);
  }
  const bool is_direct = is_value && !term.is_loaded;
  return set_place(target, is_direct ? Place::Kind::kIs : Place::Kind::kAt, term.base, term.offset);
}

bool RowProgram::restore(std::uint64_t dwarf_register) {
  const Slot slot = slot_of(dwarf_register);
  if (slot != Slot::kNone) row_[slot] = initial_[slot];
  return true;
}

bool RowProgram::save_state() {
  if (saved_count_ == kMaxSaved) return false;
  saved_[saved_count_++] = row_;
  return true;
}

bool RowProgram::restore_state() {
  if (saved_count_ == 0) return false;
  row_ = saved_[--saved_count_];
  return true;
}

bool RowProgram::set_cfa(std::uint64_t base, std::int64_t offset) {
  if (base >= dwarf::kCfa || !is_near(offset)) return false;
  row_.cfa = Term{static_cast<std::uint8_t>(base), false, offset, 0};
  return true;
}

// In unsigned arithmetic: a hostile operand must not overflow.
std::int64_t RowProgram::factored(std::uint64_t value) const {
  return static_cast<std::int64_t>(value * static_cast<std::uint64_t>(traits_.data_alignment));
}

}  // namespace geiger::unwind
