#include "runtime/unwind/cfi.h"

#include <cstddef>

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
  kNoOperation = 0x96,
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
      case kNoOperation:
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

namespace {

// The only header format that linkers write: a sorted table of (pc, FDE) as 32-bit distances from
// the header.
constexpr std::uint8_t kHeaderVersion = 1;
constexpr std::uint8_t kDataRelativeSdata4 = 0x3b;
constexpr std::uint64_t kTableEntryBytes = 8;
constexpr std::uint32_t kExtendedLength = 0xffffffff;

struct Cie {
  ProgramTraits traits;
  Cursor code;
  bool has_augmentation_data = false;
  bool is_signal_frame = false;
};

struct Table {
  const std::uint8_t* entries;
  std::uint64_t count;

  /// Distance from the header; column 0: of the pc, 1: of the FDE.
  [[nodiscard]] std::int64_t distance(std::uint64_t index, std::size_t column) const {
    std::int32_t value = 0;
    std::memcpy(&value, entries + index * kTableEntryBytes + column * sizeof value, sizeof value);
    return value;
  }
};

bool read_table(const Cfi& cfi, Table& table) {
  Cursor cursor(cfi.readable, cfi.header);
  const std::uint8_t version = cursor.u8();
  const std::uint8_t frame_encoding = cursor.u8();
  const std::uint8_t count_encoding = cursor.u8();
  const std::uint8_t table_encoding = cursor.u8();
  if (!cursor.ok() || version != kHeaderVersion || table_encoding != kDataRelativeSdata4 ||
      count_encoding == kEncodingOmit) {
    return false;
  }
  if (frame_encoding != kEncodingOmit) cursor.number(frame_encoding & kEncodingFormat);
  const std::uint64_t count = cursor.number(count_encoding & kEncodingFormat);
  if (!cursor.ok() || cursor.at_end()) return false;
  const std::uint64_t at = cursor.address();
  const std::uint64_t room = reinterpret_cast<std::uint64_t>(cfi.readable.end) - at;
  table = {cfi.readable.begin + (at - reinterpret_cast<std::uint64_t>(cfi.readable.begin)), count};
  return count != 0 && count <= room / kTableEntryBytes;
}

/// Address of the last FDE that begins at or before `pc`; 0 = none.
std::uint64_t find_fde(const Cfi& cfi, std::uint64_t pc) {
  Table table;
  const auto target = static_cast<std::int64_t>(pc - cfi.header);
  if (!read_table(cfi, table) || table.distance(0, 0) > target) return 0;
  std::uint64_t low = 0;
  for (std::uint64_t count = table.count; count > 1;) {
    const std::uint64_t half = count / 2;
    low += table.distance(low + half, 0) <= target ? half : 0;  // A cmov: the outcome is random.
    count -= half;
  }
  return cfi.header + static_cast<std::uint64_t>(table.distance(low, 1));
}

/// Reads the length field and narrows to the entry's contents.
Cursor open_entry(const Cfi& cfi, std::uint64_t address) {
  Cursor cursor(cfi.readable, address);
  const std::uint32_t length = cursor.u32();
  return cursor.take(length == kExtendedLength ? ~std::uint64_t{0} : length);
}

bool read_augmentation(Cursor& cursor, const char (&letters)[8], Cie& cie) {
  if (letters[0] == '\0') return true;
  if (letters[0] != 'z') return false;
  cie.has_augmentation_data = true;
  Cursor data = cursor.take(cursor.uleb());
  for (const char* letter = letters + 1; *letter != '\0'; ++letter) {
    if (*letter == 'R') {
      cie.traits.pointer_encoding = data.u8();
    } else if (*letter == 'P') {
      data.number(data.u8() & kEncodingFormat);
    } else if (*letter == 'L') {
      data.u8();
    } else if (*letter == 'S') {
      cie.is_signal_frame = true;
    } else if (*letter != 'B' && *letter != 'G') {  // AArch64: the key, tags on the stack.
      return false;
    }
  }
  return data.ok();
}

bool read_letters(Cursor& cursor, char (&letters)[8]) {
  for (char& letter : letters) {
    letter = static_cast<char>(cursor.u8());
    if (letter == '\0') return cursor.ok();
  }
  return false;
}

bool read_cie(Cursor cursor, Cie& cie) {
  const std::uint32_t id = cursor.u32();
  const std::uint8_t version = cursor.u8();
  char letters[8];
  if (id != 0 || (version != 1 && version != 3) || !read_letters(cursor, letters)) return false;
  cie.traits.code_alignment = cursor.uleb();
  cie.traits.data_alignment = cursor.sleb();
  const std::uint64_t column = version == 1 ? cursor.u8() : cursor.uleb();
  if (column != dwarf::kReturnAddress || !read_augmentation(cursor, letters, cie)) return false;
  cie.code = cursor;
  return cursor.ok();
}

}  // namespace

bool find_row(const Cfi& cfi, std::uint64_t pc, FoundRow& found) {
  Cursor fde = open_entry(cfi, find_fde(cfi, pc));
  const std::uint64_t cie_field = fde.address();
  const std::uint32_t cie_distance = fde.u32();
  if (!fde.ok() || cie_distance == 0) return false;
  Cie cie{{}, fde};
  if (!read_cie(open_entry(cfi, cie_field - cie_distance), cie)) return false;

  const std::uint8_t encoding = cie.traits.pointer_encoding;
  const std::uint64_t begin = fde.pointer(encoding);
  const std::uint64_t size = fde.number(encoding & kEncodingFormat);
  if (!fde.ok() || pc < begin || pc - begin >= size) return false;
  if (cie.has_augmentation_data) fde.skip(fde.uleb());

  RowProgram program(cie.traits, begin, pc);
  if (!program.run_initial(cie.code) || !program.run(fde)) return false;
  found.row = program.row();
  found.is_signal_frame = cie.is_signal_frame;
  return true;
}

}  // namespace geiger::unwind
