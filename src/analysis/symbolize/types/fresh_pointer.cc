#include "analysis/symbolize/types/fresh_pointer.h"

#include <Zydis/Zydis.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <unordered_set>

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

namespace {

/// Relocations of all tables together; the largest libraries have some 100,000.
constexpr std::size_t kMaxRelocations = std::size_t{1} << 22;

bool fills_a_slot(std::uint32_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

template <std::size_t N>
bool skip(std::span<const std::uint8_t>& code, Address& address,
          const std::array<std::uint8_t, N>& bytes) {
  if (code.size() < N || !std::ranges::equal(code.first(N), bytes)) return false;
  code = code.subspan(N);
  address += N;
  return true;
}

}  // namespace

LinkageTable::LinkageTable(Elf* elf) {
  std::size_t seen = 0;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA) continue;
    Elf_Data* const relocations = elf_getdata(section, nullptr);
    Elf_Scn* const symbol_section = elf_getscn(elf, header.sh_link);
    GElf_Shdr symbol_header;
    if (relocations == nullptr || gelf_getshdr(symbol_section, &symbol_header) == nullptr ||
        symbol_header.sh_type != SHT_DYNSYM) {
      continue;
    }
    Elf_Data* const symbols = elf_getdata(symbol_section, nullptr);
    GElf_Rela relocation;
    for (int i = 0; gelf_getrela(relocations, i, &relocation) != nullptr; ++i) {
      if (++seen > kMaxRelocations) return;
      if (!fills_a_slot(static_cast<std::uint32_t>(GELF_R_TYPE(relocation.r_info)))) continue;
      GElf_Sym symbol;
      const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
      if (gelf_getsym(symbols, index, &symbol) == nullptr) continue;
      const bool is_own = symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
                          GELF_ST_TYPE(symbol.st_info) == STT_FUNC;
      if (is_own) functions_.emplace(relocation.r_offset, symbol.st_value);
    }
  }
}

Address LinkageTable::function_behind(Address address, const CodeAt& code_at) const {
  constexpr std::array<std::uint8_t, 4> kEndBranch{0xf3, 0x0f, 0x1e, 0xfa};
  constexpr std::array<std::uint8_t, 1> kBound{0xf2};
  constexpr std::array<std::uint8_t, 2> kJump{0xff, 0x25};  // jmp *displacement(%rip)
  std::span<const std::uint8_t> code = code_at(address);
  Address at = address;
  skip(code, at, kEndBranch);
  skip(code, at, kBound);
  if (!skip(code, at, kJump) || code.size() < 4) return address;
  std::uint32_t displacement = 0;
  for (std::size_t i = 0; i < 4; ++i) displacement |= std::uint32_t{code[i]} << (8 * i);
  const auto offset = static_cast<std::int32_t>(displacement);
  const auto known = functions_.find(at + 4 + static_cast<Address>(std::int64_t{offset}));
  return known == functions_.end() ? address : known->second;
}

namespace {

using Kind = Instruction::Kind;

/// Of all ways together; constructors come within the first dozens.
constexpr std::size_t kMaxInstructions = 300;
constexpr std::size_t kMaxWays = 16;

/// 8 bytes of the stack that hold the pointer.
struct Slot {
  std::uint8_t base = kRsp;
  std::int64_t place = 0;  ///< From `base`; of rsp from where it was at the start.
  std::int64_t offset = 0;
};

struct State {
  Address at = 0;
  PointerOffsets registers;
  std::vector<Slot> slots;
  std::int64_t stack = 0;  ///< Of rsp, since the start.

  [[nodiscard]] std::int64_t place_of(const MemoryOperand& memory) const {
    return memory.displacement + (memory.base == kRsp ? stack : 0);
  }

  void forget_base(std::uint8_t base) {
    std::erase_if(slots, [&](const Slot& slot) { return slot.base == base; });
  }
  void change(std::uint8_t reg) {
    registers[reg].reset();
    if (reg == kRsp || reg == kRbp) forget_base(reg);
  }
  void change_all(std::uint16_t changed) {
    for (std::uint8_t reg = 0; reg < kRegisters; ++reg) {
      if ((changed >> reg & 1) != 0) change(reg);
    }
  }
  void overwrite(std::uint8_t base, std::int64_t place, std::int64_t bytes) {
    std::erase_if(slots, [&](const Slot& slot) {
      return slot.base == base && slot.place < place + bytes && place < slot.place + 8;
    });
  }
  void overwrite(const MemoryOperand& memory, std::int64_t bytes) {
    if (memory.base != kRsp && memory.base != kRbp) return;
    if (memory.is_plain) return overwrite(memory.base, place_of(memory), bytes);
    forget_base(memory.base);
  }
  [[nodiscard]] std::optional<std::int64_t> value_at(std::uint8_t base, std::int64_t place) const {
    for (const Slot& slot : slots) {
      if (slot.base == base && slot.place == place) return slot.offset;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool is_lost() const {
    return slots.empty() &&
           std::ranges::none_of(registers, [](const auto& one) { return one.has_value(); });
  }
};

void store(State& state, const Instruction& instruction) {
  const MemoryOperand& memory = instruction.memory;
  state.overwrite(memory, 8);
  const auto value = state.registers[instruction.from];
  const bool is_stack = memory.base == kRsp || memory.base == kRbp;
  if (value && is_stack && memory.is_plain) {
    state.slots.push_back({memory.base, state.place_of(memory), *value});
  }
}

void load(State& state, const Instruction& instruction) {
  const MemoryOperand& memory = instruction.memory;
  const auto value =
      memory.is_plain ? state.value_at(memory.base, state.place_of(memory)) : std::nullopt;
  state.change(instruction.to);
  state.registers[instruction.to] = value;
}

void add(State& state, const Instruction& instruction) {
  if (instruction.to == kRsp) {
    state.stack += instruction.value;
    return;
  }
  auto value = state.registers[instruction.to];
  state.change(instruction.to);
  if (value) state.registers[instruction.to] = *value + instruction.value;
}

void load_address(State& state, const Instruction& instruction) {
  const MemoryOperand& memory = instruction.memory;
  const bool moves_stack = instruction.to == kRsp && memory.base == kRsp && memory.is_plain;
  if (moves_stack) {
    state.stack += memory.displacement;
    return;
  }
  std::optional<std::int64_t> value;
  if (memory.is_plain) value = state.registers[memory.base];
  state.change(instruction.to);
  if (value) state.registers[instruction.to] = *value + memory.displacement;
}

void push(State& state, const Instruction& instruction) {
  state.stack -= 8;
  state.overwrite(kRsp, state.stack, 8);
  if (instruction.from == kNoRegister) return;
  if (const auto value = state.registers[instruction.from]) {
    state.slots.push_back({kRsp, state.stack, *value});
  }
}

void pop(State& state, const Instruction& instruction) {
  const auto value = state.value_at(kRsp, state.stack);
  state.overwrite(kRsp, state.stack, 8);
  state.stack += 8;
  state.change(instruction.to);
  state.registers[instruction.to] = value;
}

/// The registers that a called function may change.
void return_from_call(State& state) {
  for (const std::uint8_t reg : {kRax, kRcx, kRdx, kRsi, kRdi}) state.change(reg);
  for (std::uint8_t reg = 8; reg < 12; ++reg) state.change(reg);
}

void run(State& state, const Instruction& instruction) {
  switch (instruction.kind) {
    case Kind::kMove: {
      const auto value = state.registers[instruction.from];
      state.change(instruction.to);
      state.registers[instruction.to] = value;
      return;
    }
    case Kind::kLoad:
      return load(state, instruction);
    case Kind::kStore:
      return store(state, instruction);
    case Kind::kLea:
      return load_address(state, instruction);
    case Kind::kAdd:
      return add(state, instruction);
    case Kind::kPush:
      return push(state, instruction);
    case Kind::kPop:
      return pop(state, instruction);
    case Kind::kCall:
      return return_from_call(state);
    default:
      state.change_all(instruction.changed);
      if (instruction.stored > 0) state.overwrite(instruction.memory, instruction.stored);
  }
}

}  // namespace

PointerTrail follow_pointer(Address return_address, const CodeAt& code_at) {
  PointerTrail trail;
  State first;
  first.at = return_address;
  first.registers[kRax] = 0;
  std::vector<State> ways{first};
  std::unordered_set<Address> visited;
  while (!ways.empty() && visited.size() < kMaxInstructions) {
    State state = std::move(ways.back());
    ways.pop_back();
    while (visited.size() < kMaxInstructions && !state.is_lost() &&
           visited.insert(state.at).second) {
      const auto instruction = decode_x86(code_at(state.at), state.at);
      if (!instruction || instruction->kind == Kind::kEnd) break;
      trail.places.push_back({state.at, state.registers});
      if (instruction->kind == Kind::kCall && instruction->target != 0 && state.registers[kRdi]) {
        trail.calls.push_back({state.at, instruction->target, *state.registers[kRdi]});
      }
      if (instruction->kind == Kind::kBranch && ways.size() < kMaxWays) {
        ways.push_back(state);
        ways.back().at = instruction->target;
      }
      run(state, *instruction);
      state.at =
          instruction->kind == Kind::kJump ? instruction->target : state.at + instruction->length;
    }
  }
  return trail;
}

}  // namespace geiger::symbolize
