#include "analysis/symbolize/types/fresh_pointer.h"

#include <algorithm>
#include <unordered_set>

namespace geiger::symbolize {
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
