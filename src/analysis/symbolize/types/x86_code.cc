#include "analysis/symbolize/types/x86_code.h"

#include <Zydis/Zydis.h>

#include <array>

namespace geiger::symbolize {
namespace {

using Kind = Instruction::Kind;

constexpr std::uint16_t kMostStored = 64;  // Bytes, of a vector.

using Operands = std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT>;

/// Of the general register that `reg` is, or is a part of.
std::uint8_t number_of(ZydisRegister reg) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64) return kNoRegister;
  return static_cast<std::uint8_t>(ZydisRegisterGetId(whole));
}

bool is_whole_register(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.size == 64 &&
         number_of(operand.reg.value) != kNoRegister;
}
bool is_memory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY;
}
bool is_written(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

MemoryOperand memory_of(const ZydisDecodedOperand& operand) {
  const auto& memory = operand.mem;
  MemoryOperand result;
  result.base = number_of(memory.base);
  result.displacement = memory.disp.value;
  result.is_plain = result.base != kNoRegister && memory.index == ZYDIS_REGISTER_NONE &&
                    memory.segment != ZYDIS_REGISTER_FS && memory.segment != ZYDIS_REGISTER_GS;
  return result;
}

/// One instruction as Zydis has it, on its way to ours.
struct Translation {
  const ZydisDecodedInstruction& from;
  const Operands& operands;
  Address address;
  Instruction to;

  [[nodiscard]] std::uint8_t reg(std::size_t operand) const {
    return number_of(operands[operand].reg.value);
  }

  /// 0 where it is not known before the instruction runs.
  [[nodiscard]] Address target() const {
    ZyanU64 found = 0;
    if (operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return 0;
    const bool is_known =
        ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&from, &operands[0], address, &found));
    return is_known ? found : 0;
  }

  void jump(Kind kind) {
    to.kind = kind;
    to.target = target();
    if (kind != Kind::kCall && to.target == 0) to.kind = Kind::kEnd;
  }

  void move() {
    const ZydisDecodedOperand& destination = operands[0];
    const ZydisDecodedOperand& source = operands[1];
    if (is_whole_register(destination) && is_whole_register(source)) {
      to.kind = Kind::kMove;
    } else if (is_whole_register(destination) && is_memory(source)) {
      to.kind = Kind::kLoad;
      to.memory = memory_of(source);
    } else if (is_memory(destination) && is_whole_register(source)) {
      to.kind = Kind::kStore;
    } else {
      return;
    }
    if (!is_memory(destination)) to.to = reg(0);
    if (!is_memory(source)) to.from = reg(1);
  }

  void add(std::int64_t sign) {
    const bool is_sum =
        is_whole_register(operands[0]) && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    if (!is_sum) return;
    to.kind = Kind::kAdd;
    to.to = reg(0);
    to.value = sign * operands[1].imm.value.s;
  }

  /// False: it does what cannot be said here.
  bool note_changes() {
    for (std::size_t i = 0; i < from.operand_count; ++i) {
      const ZydisDecodedOperand& operand = operands[i];
      if (!is_written(operand)) continue;
      if (is_memory(operand)) {
        to.memory = memory_of(operand);
        // xsave and its like write as much as their mask says.
        if (operand.size < 8 || operand.size / 8 > kMostStored) return false;
        to.stored = static_cast<std::uint8_t>(operand.size / 8);
      } else if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
        const std::uint8_t number = reg(i);
        if (number == kRsp && operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN) return false;
        if (number != kNoRegister) to.changed |= static_cast<std::uint16_t>(1U << number);
      }
    }
    return true;
  }

  bool translate() {
    switch (from.meta.category) {
      case ZYDIS_CATEGORY_CALL:
        return jump(Kind::kCall), true;
      case ZYDIS_CATEGORY_UNCOND_BR:
        return jump(Kind::kJump), true;
      case ZYDIS_CATEGORY_RET:
      case ZYDIS_CATEGORY_INTERRUPT:
        return to.kind = Kind::kEnd, true;
      case ZYDIS_CATEGORY_STRINGOP:
      case ZYDIS_CATEGORY_IOSTRINGOP:
      case ZYDIS_CATEGORY_SYSCALL:
        return false;
      default:
        break;
    }
    switch (from.mnemonic) {
      case ZYDIS_MNEMONIC_UD2:
      case ZYDIS_MNEMONIC_HLT:
        return to.kind = Kind::kEnd, true;
      case ZYDIS_MNEMONIC_PUSH:
        to.kind = Kind::kPush;
        if (is_whole_register(operands[0])) to.from = reg(0);
        return true;
      case ZYDIS_MNEMONIC_POP:
        to.kind = Kind::kPop;
        to.to = reg(0);
        return is_whole_register(operands[0]);
      default:
        break;
    }
    if (!note_changes()) return false;
    if (from.meta.category == ZYDIS_CATEGORY_COND_BR) jump(Kind::kBranch);
    if (from.mnemonic == ZYDIS_MNEMONIC_MOV) move();
    if (from.mnemonic == ZYDIS_MNEMONIC_ADD) add(1);
    if (from.mnemonic == ZYDIS_MNEMONIC_SUB) add(-1);
    if (from.mnemonic == ZYDIS_MNEMONIC_LEA && is_whole_register(operands[0])) {
      to.kind = Kind::kLea;
      to.to = reg(0);
      to.memory = memory_of(operands[1]);
    }
    return true;
  }
};

ZydisDecoder long_mode_decoder() {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return decoder;
}

}  // namespace

std::optional<Instruction> decode_x86(std::span<const std::uint8_t> code, Address address) {
  static const ZydisDecoder decoder = long_mode_decoder();
  ZydisDecodedInstruction instruction;
  Operands operands;
  if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(), &instruction,
                                         operands.data()))) {
    return std::nullopt;
  }
  Translation translation{instruction, operands, address, {}};
  translation.to.length = instruction.length;
  if (!translation.translate()) return std::nullopt;
  return translation.to;
}

}  // namespace geiger::symbolize
