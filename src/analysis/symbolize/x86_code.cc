#include "analysis/symbolize/x86_code.h"

#include <algorithm>

#include "analysis/symbolize/x86_tables.h"

namespace geiger::symbolize {
namespace {

using Kind = Instruction::Kind;
using namespace x86;

constexpr std::size_t kMaxLength = 15;

class Decoder {
 public:
  Decoder(std::span<const std::uint8_t> code, Address address)
      : code_(code.first(std::min(code.size(), kMaxLength))), address_(address) {}

  std::optional<Instruction> decode() {
    read_prefixes();
    const std::uint8_t opcode = byte();
    if (opcode == 0xc4 || opcode == 0xc5) {
      read_vex(opcode);
    } else if (opcode == 0x0f) {
      read_two_bytes();
    } else {
      read_one_byte(opcode);
    }
    if (!is_known_ || is_cut_off_) return std::nullopt;
    result_.length = static_cast<std::uint8_t>(at_);
    if (is_relative_) result_.target = address_ + at_ + static_cast<Address>(relative_);
    return result_;
  }

 private:
  std::uint8_t byte() {
    if (at_ >= code_.size()) {
      is_cut_off_ = true;
      return 0;
    }
    return code_[at_++];
  }
  std::int64_t signed_value(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{byte()} << (8 * i);
    const std::size_t unused = 64 - 8 * bytes;
    return static_cast<std::int64_t>(value << unused) >> unused;
  }
  std::int64_t word_immediate() { return signed_value(is_16_bits_ ? 2 : 4); }

  void read_prefixes() {
    for (;;) {
      if (at_ >= code_.size()) return;
      const std::uint8_t next = code_[at_];
      if (next == 0x66) {
        is_16_bits_ = true;
      } else if (next == 0xf3) {
        has_f3_ = true;
      } else if (next == 0xf2) {
        has_f2_ = true;
      } else if (next != 0xf0 && next != 0x2e && next != 0x36 && next != 0x3e && next != 0x26 &&
                 next != 0x64 && next != 0x65) {
        break;
      } else if (next == 0x64 || next == 0x65) {
        has_segment_ = true;
      }
      ++at_;
    }
    if ((code_[at_] & 0xf0) != 0x40) return;
    const std::uint8_t rex = byte();
    is_64_bits_ = (rex & 8) != 0;
    high_reg_ = (rex & 4) != 0 ? 8 : 0;
    high_index_ = (rex & 2) != 0 ? 8 : 0;
    high_rm_ = (rex & 1) != 0 ? 8 : 0;
  }

  void read_modrm() {
    const std::uint8_t modrm = byte();
    const std::uint8_t mode = modrm >> 6;
    digit_ = modrm >> 3 & 7;
    reg_ = static_cast<std::uint8_t>(digit_ | high_reg_);
    const std::uint8_t low = modrm & 7;
    if (mode == 3) {
      rm_ = static_cast<std::uint8_t>(low | high_rm_);
      return;
    }
    MemoryOperand& memory = result_.memory;
    memory.base = static_cast<std::uint8_t>(low | high_rm_);
    memory.is_plain = !has_segment_;
    bool has_wide_displacement = mode == 2;
    if (low == 4) {
      const std::uint8_t sib = byte();
      memory.base = static_cast<std::uint8_t>((sib & 7) | high_rm_);
      const auto index = static_cast<std::uint8_t>((sib >> 3 & 7) | high_index_);
      memory.is_plain &= index == kRsp;
      if (mode == 0 && (sib & 7) == kRbp) {
        memory.is_plain = false;
        has_wide_displacement = true;
      }
    } else if (mode == 0 && low == kRbp) {  // Relative to rip.
      memory.is_plain = false;
      has_wide_displacement = true;
    }
    if (mode == 1) memory.displacement = signed_value(1);
    if (has_wide_displacement) memory.displacement = signed_value(4);
  }
  [[nodiscard]] bool is_register() const { return rm_ != kNoRegister; }

  void change(std::uint8_t reg) {
    if (reg == kNoRegister) return;
    // Without a prefix 4 to 7 are also ah to bh.
    result_.changed |= static_cast<std::uint16_t>(1U << reg);
    if (is_byte_wide_) result_.changed |= static_cast<std::uint16_t>(1U << (reg & 3));
  }
  void change_operands(std::uint8_t writes) {
    if ((writes & kReg) != 0) change(reg_);
    if ((writes & kRm) != 0) change(rm_);
    if ((writes & kThird) != 0) change(third_);
    if ((writes & kAccumulator) != 0) {
      change(kRax);
      change(kRdx);
    }
    result_.stored = is_register() ? 0 : store_width();
  }
  [[nodiscard]] std::uint8_t store_width() const {
    if (vector_width_ > 0) return vector_width_;
    if (is_byte_wide_) return 1;
    return is_16_bits_ ? 2 : is_64_bits_ ? 8 : 4;
  }
  void relative(Kind kind, std::size_t bytes) {
    result_.kind = kind;
    relative_ = signed_value(bytes);
    is_relative_ = true;
  }

  void read_one_byte(std::uint8_t opcode) {
    if (opcode < 0x40 && (opcode & 7) < 6) return read_arithmetic(opcode);
    if (opcode >= 0x50 && opcode <= 0x5f) return read_push_pop(opcode);
    if (opcode >= 0x70 && opcode <= 0x7f) return relative(Kind::kBranch, 1);
    if (opcode >= 0x80 && opcode <= 0x8d) return read_moves(opcode);
    if (opcode >= 0xb0 && opcode <= 0xb7) {
      is_byte_wide_ = true;
      change(static_cast<std::uint8_t>((opcode & 7) | high_rm_));
      signed_value(1);
      return;
    }
    if (opcode >= 0xb8 && opcode <= 0xbf) {
      change(static_cast<std::uint8_t>((opcode & 7) | high_rm_));
      if (is_64_bits_) {
        signed_value(8);
      } else {
        word_immediate();
      }
      return;
    }
    if (opcode >= 0xd8 && opcode <= 0xdf) {
      read_modrm();
      change(kRax);  // fnstsw
      result_.stored = is_register() ? 0 : kWidestFloat;
      return;
    }
    read_others(opcode);
  }

  void read_arithmetic(std::uint8_t opcode) {
    const bool is_compare = (opcode & 0x38) == 0x38;
    const int form = opcode & 7;
    if (form == 4 || form == 5) {
      if (!is_compare) change(kRax);
      form == 4 ? signed_value(1) : word_immediate();
      return;
    }
    is_byte_wide_ = form == 0 || form == 2;
    read_modrm();
    if (is_compare) return;
    change_operands(form < 2 ? kRm : kReg);
    if (form >= 2) result_.stored = 0;
  }

  void read_push_pop(std::uint8_t opcode) {
    const auto reg = static_cast<std::uint8_t>((opcode & 7) | high_rm_);
    result_.kind = opcode < 0x58 ? Kind::kPush : Kind::kPop;
    (opcode < 0x58 ? result_.from : result_.to) = reg;
  }

  void read_moves(std::uint8_t opcode) {
    is_byte_wide_ =
        opcode == 0x80 || opcode == 0x84 || opcode == 0x86 || opcode == 0x88 || opcode == 0x8a;
    read_modrm();
    if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83) {
      read_immediate_arithmetic(opcode);
    } else if (opcode == 0x86 || opcode == 0x87) {
      change_operands(kReg | kRm);
    } else if (opcode == 0x88) {
      change_operands(kRm);
    } else if (opcode == 0x8a) {
      change(reg_);
    } else if (opcode == 0x89) {
      read_store();
    } else if (opcode == 0x8b) {
      read_load();
    } else if (opcode == 0x8d) {
      result_.kind = is_64_bits_ ? Kind::kLea : Kind::kOther;
      result_.to = reg_;
      change(reg_);
    } else if (opcode != 0x84 && opcode != 0x85) {
      is_known_ = false;
    }
  }

  void read_store() {
    change_operands(kRm);
    if (!is_64_bits_) return;
    result_.kind = is_register() ? Kind::kMove : Kind::kStore;
    result_.to = rm_;
    result_.from = reg_;
  }
  void read_load() {
    change(reg_);
    if (!is_64_bits_) return;
    result_.kind = is_register() ? Kind::kMove : Kind::kLoad;
    result_.to = reg_;
    result_.from = rm_;
  }
  void read_immediate_arithmetic(std::uint8_t opcode) {
    const std::int64_t value = opcode == 0x81 ? word_immediate() : signed_value(1);
    if (digit_ == 7) return;
    change_operands(kRm);
    const bool is_sum = digit_ == 0 || digit_ == 5;
    if (!is_sum || !is_64_bits_ || !is_register()) return;
    result_.kind = Kind::kAdd;
    result_.to = rm_;
    result_.value = digit_ == 0 ? value : -value;
  }

  void read_others(std::uint8_t opcode) {
    if (opcode == 0xc2 || opcode == 0xc3 || opcode == 0xcc || opcode == 0xf4) {
      result_.kind = Kind::kEnd;
    } else if (opcode == 0x90) {
      return;
    } else if (opcode == 0x68 || opcode == 0x6a) {
      result_.kind = Kind::kPush;
      opcode == 0x68 ? word_immediate() : signed_value(1);
    } else if (opcode == 0x98 || opcode == 0x99) {
      change(opcode == 0x98 ? kRax : kRdx);
    } else if (opcode == 0xa8 || opcode == 0xa9) {
      opcode == 0xa8 ? signed_value(1) : word_immediate();
    } else if (opcode == 0xe8 || opcode == 0xe9) {
      relative(opcode == 0xe8 ? Kind::kCall : Kind::kJump, 4);
    } else if (opcode == 0xeb) {
      relative(Kind::kJump, 1);
    } else if (opcode == 0xf6 || opcode == 0xf7) {
      read_unary(opcode);
    } else if (opcode == 0xfe || opcode == 0xff) {
      read_group(opcode);
    } else {
      read_shifts_and_products(opcode);
    }
  }

  void read_shifts_and_products(std::uint8_t opcode) {
    const bool is_product = opcode == 0x69 || opcode == 0x6b;
    const bool is_shift = (opcode & 0xfe) == 0xc0 || (opcode & 0xfc) == 0xd0;
    const bool is_store = opcode == 0xc6 || opcode == 0xc7;
    if (!is_product && !is_shift && !is_store && opcode != 0x63) {
      is_known_ = false;
      return;
    }
    is_byte_wide_ = opcode == 0xc6;
    read_modrm();
    if (opcode == 0x69 || opcode == 0xc7) {
      word_immediate();
    } else if (opcode == 0x6b || opcode == 0xc6 || (opcode & 0xfe) == 0xc0) {
      signed_value(1);
    }
    if (is_shift || is_store) return change_operands(kRm);
    change(reg_);
  }

  void read_unary(std::uint8_t opcode) {
    is_byte_wide_ = opcode == 0xf6;
    read_modrm();
    if (digit_ < 2) {
      opcode == 0xf6 ? signed_value(1) : word_immediate();
      return;
    }
    change_operands(digit_ < 4 ? kRm : kAccumulator);
  }

  void read_group(std::uint8_t opcode) {
    is_byte_wide_ = opcode == 0xfe;
    read_modrm();
    if (digit_ < 2) return change_operands(kRm);
    if (opcode == 0xff && digit_ == 2) {
      result_.kind = Kind::kCall;
    } else if (opcode == 0xff && digit_ == 4) {
      result_.kind = Kind::kEnd;
    } else if (opcode == 0xff && digit_ == 6) {
      result_.kind = Kind::kPush;
    } else {
      is_known_ = false;
    }
  }

  void read_two_bytes() {
    const std::uint8_t opcode = byte();
    if (opcode == 0x38 || opcode == 0x3a) {
      const std::uint8_t third = byte();
      return read_operands(third, opcode == 0x38 ? 2 : 3);
    }
    if (opcode >= 0x80 && opcode <= 0x8f) return relative(Kind::kBranch, 4);
    if (opcode >= 0xc8 && opcode <= 0xcf) {
      change(static_cast<std::uint8_t>((opcode & 7) | high_rm_));
      return;
    }
    if (opcode == 0x0b) {
      result_.kind = Kind::kEnd;
    } else if (opcode == 0x31) {
      change_operands(kAccumulator);
    } else if (opcode != 0x77) {
      read_operands(opcode, 1);
    }
  }

  void read_vex(std::uint8_t prefix) {
    const std::uint8_t first = byte();
    high_reg_ = (first & 0x80) != 0 ? 0 : 8;
    std::uint8_t map = 1;
    std::uint8_t last = first;
    if (prefix == 0xc4) {
      high_index_ = (first & 0x40) != 0 ? 0 : 8;
      high_rm_ = (first & 0x20) != 0 ? 0 : 8;
      map = first & 0x1f;
      last = byte();
    }
    third_ = static_cast<std::uint8_t>(~last >> 3 & 15);
    has_f3_ = (last & 3) == 2;
    has_f2_ = (last & 3) == 3;
    const std::uint8_t opcode = byte();
    if (map == 1 && opcode == 0x77) return;
    read_operands(opcode, map);
  }

  /// Opcodes with a ModRM byte; `map`: 1 = 0f, 2 = 0f 38, 3 = 0f 3a.
  void read_operands(std::uint8_t opcode, std::uint8_t map) {
    if (map == 1 && (opcode < 0x0d || (opcode >= 0x20 && opcode < 0x28) ||
                     (opcode >= 0x30 && opcode < 0x40) || opcode == 0xa2)) {
      is_known_ = false;
      return;
    }
    is_byte_wide_ = map == 1 && opcode >= 0x90 && opcode <= 0x9f;
    read_modrm();
    const bool has_immediate = map == 3 || (map == 1 && is_in(kHasByte, opcode));
    if (has_immediate) signed_value(1);
    vector_width_ = map == 1 ? width_of(opcode, has_f2_, has_f3_) : kWidestVector;
    if (map == 1) return change_operands(writes_of(opcode, has_f3_));
    if (map == 2) return change_operands(opcode >= 0xf0 ? kReg | kRm | kThird : kNothing);
    change_operands(opcode == 0xf0 ? kReg : opcode >= 0x14 && opcode <= 0x17 ? kRm : kNothing);
  }

  std::span<const std::uint8_t> code_;
  Address address_;
  std::size_t at_ = 0;
  Instruction result_;
  bool is_known_ = true;
  bool is_cut_off_ = false;
  bool is_16_bits_ = false, is_64_bits_ = false, is_byte_wide_ = false;
  bool has_f3_ = false, has_f2_ = false, has_segment_ = false;
  std::uint8_t vector_width_ = 0;
  std::uint8_t high_reg_ = 0, high_index_ = 0, high_rm_ = 0;
  std::uint8_t digit_ = 0;
  std::uint8_t reg_ = kNoRegister, rm_ = kNoRegister, third_ = kNoRegister;
  bool is_relative_ = false;
  std::int64_t relative_ = 0;
};

}  // namespace

std::optional<Instruction> decode_x86(std::span<const std::uint8_t> code, Address address) {
  if (code.empty()) return std::nullopt;
  return Decoder(code, address).decode();
}

}  // namespace geiger::symbolize
