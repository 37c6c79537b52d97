#include "runtime/unwind/full_walk.h"

#include "runtime/unwind/frame_pointer.h"
#include "runtime/unwind/recorder.h"
#include "runtime/unwind/rules.h"

namespace geiger::unwind {
namespace {

/// Most frames of ours between here and the start of any walk in capture.
constexpr int kMaxOwnFrames = 32;

/// An unknown register is 0: no frame can be based on it.
struct Machine {
  std::uint64_t ip, sp;
  std::uint64_t saved[kSlots - 1];  // By Slot, without the return address.
  bool is_sp_bound;                 // The stack pointer is at least sp (frame_pointer.h).

  [[nodiscard]] std::uint64_t& operator[](Slot slot) {
    return saved[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] std::uint64_t operator[](Slot slot) const {
    return saved[static_cast<std::size_t>(slot)];
  }
};

enum class Outcome : std::uint8_t { kStepped, kSteppedFromSignal, kEnd, kLost };

bool base_value(Machine& at, std::uint64_t cfa, std::uint8_t base, std::uint64_t& value) {
  if (base == dwarf::kCfa || base == dwarf::kStackPointer) {
    value = base == dwarf::kCfa ? cfa : at.sp;
    return true;
  }
  const Slot slot = slot_of(base);
  if (slot == Slot::kNone || slot == Slot::kReturnAddress) return false;
  value = at[slot];
  return value != 0;
}

/// In functions with a frame pointer, it points to its saved value.
bool find_cfa_by_frame_pointer(const Machine& at, const Row& row, std::uint64_t& cfa) {
  const Place& saved = row[Slot::kFramePointer];
  if (saved.kind != Place::Kind::kAt || saved.base != dwarf::kCfa) return false;
  cfa = at[Slot::kFramePointer] - static_cast<std::uint64_t>(std::int64_t{saved.offset});
  return true;
}

bool find_cfa(Machine& at, const Row& row, StackMemory& stack, std::uint64_t& cfa) {
  const Term& term = row.cfa;
  if (at.is_sp_bound && term.base == dwarf::kStackPointer) {
    return find_cfa_by_frame_pointer(at, row, cfa);
  }
  std::uint64_t base = 0;
  if (!base_value(at, 0, term.base, base)) return false;
  cfa = base + static_cast<std::uint64_t>(term.offset);
  if (term.is_loaded && !stack.read(cfa, cfa)) return false;
  cfa += static_cast<std::uint64_t>(term.added);
  return true;
}

enum class Value : std::uint8_t { kKnown, kUnknown, kUnreadable };

/// `value` is this frame's, and becomes the caller's.
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
  if (!find_cfa(at, found.row, stack, cfa)) return Outcome::kLost;
  // An interrupted function may not have saved anything yet: then its frame is empty.
  const bool is_in_register = ip.kind == Place::Kind::kSame;
  const std::uint64_t link = is_in_register ? machine::link_of(at) : 0;
  const bool is_empty = link != 0 && cfa == at.sp;
  if (!found.is_signal_frame && !is_empty && !stack.is_step(at.sp, cfa)) return Outcome::kLost;
  Machine caller = at;
  caller.sp = cfa;
  caller.ip = link;
  caller.is_sp_bound = false;
  // An unknown return address, although 0, does not end the stack.
  if (is_in_register ? link == 0 : apply(at, cfa, ip, stack, caller.ip) != Value::kKnown)
    return Outcome::kLost;
  caller.ip = machine::stripped(caller.ip);
  machine::forget_link(caller);
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
  Registers registers{at.ip, at.sp, at[Slot::kFramePointer]};
  if (!step_by_frame_pointer(registers, stack)) return Outcome::kLost;
  at = {registers.ip, registers.sp, {}, !machine::kPushesReturnAddress};
  at[Slot::kFramePointer] = registers.bp;
  return Outcome::kStepped;
}

/// Leaves interrupted code of a module that no table covers: linker stubs, which change no
/// registers. False: the return address is unknown.
bool leave_by_link(Machine& at) {
  const std::uint64_t link = machine::link_of(at);
  if (link == 0) return false;
  at.ip = link;
  machine::forget_link(at);
  return true;
}

struct Position {
  Machine at;
  bool is_exact;  ///< ip was interrupted: not a return address.
};

/// The recorded value.
std::uint64_t frame_of(const Position& position) {
  return position.at.ip + (position.is_exact ? 1 : 0);
}

/// Steps one frame up; returns the module of the frame it leaves in `module`.
Outcome step(Position& position, StackMemory& stack, std::uint32_t& module) {
  FoundRow found;
  const std::uint64_t pc = position.at.ip - (position.is_exact ? 0 : 1);
  const Registers registers{position.at.ip, position.at.sp, position.at[Slot::kFramePointer]};
  const bool has_row = find_full_row(pc, registers, stack, found, module);
  Outcome outcome = Outcome::kStepped;
  if (has_row) {
    outcome = step_by_row(position.at, found, stack);
  } else if (!position.is_exact || module == 0 || !leave_by_link(position.at)) {
    outcome = step_without_row(position.at, stack);
  }
  position.is_exact = outcome == Outcome::kSteppedFromSignal;
  return outcome;
}

/// Walks our own frames up to `start`.
bool climb_to(const Registers& start, Position& position, StackMemory& stack) {
  for (int i = 0; i < kMaxOwnFrames && position.at.sp < start.sp; ++i) {
    std::uint32_t module = 0;
    const Outcome outcome = step(position, stack, module);
    if (outcome != Outcome::kStepped && outcome != Outcome::kSteppedFromSignal) return false;
  }
  return frame_of(position) == start.ip && position.at.sp == start.sp;
}

void record(Position position, StackMemory& stack, Trace& out) {
  Recorder recorder(out);
  for (;;) {
    const std::uint64_t frame = frame_of(position);
    if (frame == 0) {
      recorder.reach_end();
      break;
    }
    if (static_cast<std::int64_t>(frame) < 0) break;  // As in walk.cc.
    const Registers at{position.at.ip, position.at.sp, position.at[Slot::kFramePointer]};
    std::uint32_t module = 0;
    const Outcome outcome = step(position, stack, module);
    if (!recorder.push_or_fold(at, frame, module)) break;
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
  machine::store_registers(here.at);
  here.is_exact = true;
  StackMemory stack(bounds, here.at.sp);
  stack.enter(here.at.sp);
  if (!climb_to(start, here, stack)) {
    here = {{start.ip, start.sp, {}, false}, false};
    here.at[Slot::kFramePointer] = start.bp;
    stack.enter(start.sp);
  }
  record(here, stack, out);
}

}  // namespace geiger::unwind
