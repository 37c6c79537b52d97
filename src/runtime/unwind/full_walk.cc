#include "runtime/unwind/full_walk.h"

#include "runtime/unwind/frame_pointer.h"
#include "runtime/unwind/recorder.h"
#include "runtime/unwind/rules.h"

namespace geiger::unwind {
namespace {

/// Frames of ours between here and the start of any walk that capture begins.
constexpr int kMaxOwnFrames = 32;

/// A register that is not known holds 0: no frame can be based on it.
struct Machine {
  std::uint64_t ip, sp;
  std::uint64_t saved[kSlots - 1];  // By Slot, without the return address.

  [[nodiscard]] std::uint64_t& operator[](Slot slot) {
    return saved[static_cast<std::size_t>(slot)];
  }
};

enum class Outcome : std::uint8_t { kStepped, kSteppedFromSignal, kEnd, kLost };

bool base_value(Machine& at, std::uint64_t cfa, std::uint8_t base, std::uint64_t& value) {
  if (base == dwarf::kCfa || base == dwarf::kRsp) {
    value = base == dwarf::kCfa ? cfa : at.sp;
    return true;
  }
  const Slot slot = slot_of(base);
  if (slot == Slot::kNone || slot == Slot::kReturnAddress) return false;
  value = at[slot];
  return value != 0;
}

bool find_cfa(Machine& at, const Term& term, StackMemory& stack, std::uint64_t& cfa) {
  std::uint64_t base = 0;
  if (!base_value(at, 0, term.base, base)) return false;
  cfa = base + static_cast<std::uint64_t>(term.offset);
  if (term.is_loaded && !stack.read(cfa, cfa)) return false;
  cfa += static_cast<std::uint64_t>(term.added);
  return true;
}

enum class Value : std::uint8_t { kKnown, kUnknown, kUnreadable };

/// `value` comes with this frame's and leaves with the caller's.
Value apply(Machine& at, std::uint64_t cfa, const Place& place, StackMemory& stack,
            std::uint64_t& value) {
  if (place.kind == Place::Kind::kSame || place.kind == Place::Kind::kUndefined)
    return Value::kKnown;
  std::uint64_t base = 0;
  if (place.kind == Place::Kind::kUnsupported || !base_value(at, cfa, place.base, base)) {
    value = 0;
    return Value::kUnknown;
  }
  base += static_cast<std::uint64_t>(std::int64_t{place.offset});
  if (place.kind == Place::Kind::kAt)
    return stack.read(base, value) ? Value::kKnown : Value::kUnreadable;
  value = base;
  return Value::kKnown;
}

Outcome step_by_row(Machine& at, const FoundRow& found, StackMemory& stack) {
  const Place& ip = found.row[Slot::kReturnAddress];
  if (ip.kind == Place::Kind::kUndefined) return Outcome::kEnd;
  std::uint64_t cfa = 0;
  if (!find_cfa(at, found.row.cfa, stack, cfa)) return Outcome::kLost;
  if (!found.is_signal_frame && !stack.is_step(at.sp, cfa)) return Outcome::kLost;
  Machine caller = at;
  caller.sp = cfa;
  caller.ip = 0;
  // A return address that is not known does not end the stack, although it is 0.
  if (ip.kind == Place::Kind::kSame || apply(at, cfa, ip, stack, caller.ip) != Value::kKnown)
    return Outcome::kLost;
  for (std::size_t slot = 0; slot + 1 < kSlots; ++slot) {
    const Place& place = found.row.places[slot];
    if (apply(at, cfa, place, stack, caller.saved[slot]) == Value::kUnreadable)
      return Outcome::kLost;
  }
  at = caller;
  if (!found.is_signal_frame) return Outcome::kStepped;
  stack.enter(at.sp);
  return Outcome::kSteppedFromSignal;
}

Outcome step_without_row(Machine& at, StackMemory& stack) {
  Registers registers{at.ip, at.sp, at[Slot::kRbp]};
  if (!step_by_frame_pointer(registers, stack)) return Outcome::kLost;
  at = {registers.ip, registers.sp, {}};
  at[Slot::kRbp] = registers.bp;
  return Outcome::kStepped;
}

struct Position {
  Machine at;
  bool is_exact;  ///< ip was interrupted: not a return address.
};

/// One frame up; tells the module of the frame it leaves.
Outcome step(Position& position, StackMemory& stack, std::uint32_t& module) {
  FoundRow found;
  const std::uint64_t pc = position.at.ip - (position.is_exact ? 0 : 1);
  const bool has_row = find_full_row(pc, found, module);
  const Outcome outcome =
      has_row ? step_by_row(position.at, found, stack) : step_without_row(position.at, stack);
  position.is_exact = outcome == Outcome::kSteppedFromSignal;
  return outcome;
}

#define GEIGER_STORE_REGISTER(name, target) asm volatile("mov %%" name ", %0" : "=m"(target))

[[gnu::always_inline]] inline void store_registers(Machine& here) {
  GEIGER_STORE_REGISTER("rsp", here.sp);
  GEIGER_STORE_REGISTER("rbx", here[Slot::kRbx]);
  GEIGER_STORE_REGISTER("rbp", here[Slot::kRbp]);
  GEIGER_STORE_REGISTER("r12", here[Slot::kR12]);
  GEIGER_STORE_REGISTER("r13", here[Slot::kR13]);
  GEIGER_STORE_REGISTER("r14", here[Slot::kR14]);
  GEIGER_STORE_REGISTER("r15", here[Slot::kR15]);
}

/// Walks our own frames until it stands at `start`.
bool climb_to(const Registers& start, Position& position, StackMemory& stack) {
  for (int i = 0; i < kMaxOwnFrames && position.at.sp < start.sp; ++i) {
    std::uint32_t module = 0;
    const Outcome outcome = step(position, stack, module);
    if (outcome != Outcome::kStepped && outcome != Outcome::kSteppedFromSignal) return false;
  }
  return position.at.ip == start.ip && position.at.sp == start.sp;
}

void record(Position position, StackMemory& stack, Trace& out) {
  Recorder recorder(out);
  for (;;) {
    const std::uint64_t frame = position.at.ip + (position.is_exact ? 1 : 0);
    if (frame == 0) {
      recorder.reach_end();
      break;
    }
    const Registers at{position.at.ip, position.at.sp, position.at[Slot::kRbp]};
    std::uint32_t module = 0;
    const Outcome outcome = step(position, stack, module);
    if (!recorder.push(at, frame, module)) break;
    if (outcome == Outcome::kSteppedFromSignal) recorder.pass_signal();
    if (outcome == Outcome::kEnd) recorder.reach_end();
    if (outcome == Outcome::kEnd || outcome == Outcome::kLost) break;
  }
  recorder.finish();
}

}  // namespace

GEIGER_SLOW_PATH void walk_with_all_registers(const Registers& start, const StackBounds& bounds,
                                              Trace& out) {
  Position here{};
  store_registers(here.at);
  asm volatile("lea 0(%%rip), %0" : "=r"(here.at.ip));
  here.is_exact = true;
  StackMemory stack(bounds, here.at.sp);
  stack.enter(here.at.sp);
  if (!climb_to(start, here, stack)) {
    here = {{start.ip, start.sp, {}}, false};
    here.at[Slot::kRbp] = start.bp;
    stack.enter(start.sp);
  }
  record(here, stack, out);
}

}  // namespace geiger::unwind
