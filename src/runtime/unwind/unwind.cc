#include "runtime/unwind/unwind.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "runtime/unwind/machine.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/rules.h"
#include "runtime/unwind/stack_memory.h"

namespace geiger::unwind {

// The step without a rule: [bp] is the caller's bp, [bp + 8] the return address.

/// False: bp is not a plausible frame pointer. It must be above sp, the caller's above it (or 0 at
/// the end of the chain), and the return address must be an address of user code. The new sp is
/// exact if calls push the return address (machine.h), else a lower bound.
[[nodiscard]] inline bool step_by_frame_pointer(Registers& at, StackMemory& stack) {
  constexpr std::uint64_t kLowest = 4096;
  constexpr std::uint64_t kHighest = std::uint64_t{1} << 56;
  const std::uint64_t cfa = at.bp + 16;
  std::uint64_t bp = 0;
  std::uint64_t ip = 0;
  if (!stack.is_step(at.sp, cfa) || !stack.read(at.bp, bp) || !stack.read(at.bp + 8, ip)) {
    return false;
  }
  ip = machine::stripped(ip);
  const bool is_chain = bp == 0 || bp > at.bp;
  const bool is_code = ip == 0 || (ip >= kLowest && ip < kHighest);
  if (!is_chain || !is_code) return false;
  at = {ip, cfa, bp};
  return true;
}

// Writes frames into a Trace and hashes them; makes room for more by folding recursion.

class Recorder {
 public:
  explicit Recorder(Trace& trace)
      : trace_(&trace), next_(trace.frames), end_(trace.frames + trace.capacity) {
    trace_->truncated = true;  // Until an end is seen.
    trace_->handler_frames = 0;
    trace_->folded = 0;
    if (trace.stack_pointers != nullptr) {
      to_stack_pointer_ =
          reinterpret_cast<char*>(trace.stack_pointers) - reinterpret_cast<char*>(trace.frames);
    }
  }

  /// False: no room left.
  [[gnu::always_inline]] bool push(const Registers& at, std::uint64_t frame, std::uint32_t module) {
    if (next_ == end_) return false;
    // If the trace stores no stack pointers, the next line overwrites this one with the frame.
    *reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(next_) + to_stack_pointer_) = at.sp;
    *next_++ = frame;
    hash(frame, module);
    return true;
  }

  /// As push(); where there is no room, folds recursion to make some.
  [[gnu::always_inline]] bool push_or_fold(const Registers& at, std::uint64_t frame,
                                           std::uint32_t module) {
    return push(at, frame, module) || (make_room_slow() && push(at, frame, module));
  }

  void reach_end() { trace_->truncated = false; }

  /// A signal interrupted the next frame.
  void pass_signal() { trace_->handler_frames = static_cast<std::size_t>(next_ - trace_->frames); }

  /// Spreads the last frames over all bits: tables take the low ones.
  void finish() {
    if (trace_->folded != 0) [[unlikely]]
      fold_rest_slow();
    trace_->count = static_cast<std::size_t>(next_ - trace_->frames);
    std::uint64_t hash = hash_ ^ trace_->count;
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdU;
    trace_->hash = hash ^ hash >> 32;
  }

 private:
  bool make_room_slow();
  void fold_rest_slow();
  std::size_t fold_own();

  [[gnu::always_inline]] void hash(std::uint64_t frame, std::uint32_t module) {
    // Addresses have at most 57 bits and the id 13: no two pairs share a word as long as the
    // address is below 2^51; else the product still separates them.
    const std::uint64_t word = frame ^ std::uint64_t{module} << 51;
    hash_ = ((hash_ << 5 | hash_ >> 59) ^ word) * 0x9fb21c651e98df25U;
  }

  Trace* trace_;
  std::uint64_t* next_;
  std::uint64_t* end_;
  std::ptrdiff_t to_stack_pointer_ = 0;  ///< In bytes, from the frame's place.
  std::uint64_t hash_ = 0;
};

// The walk with all registers that survive calls: slower by an order of magnitude, and only needed
// if a frame's CFA depends on another register (such as the loader's lazy-binding trampoline, if a
// resolver or symbol lookup below it allocates).

/// Like walk(). Finds the callee-saved registers at `start` by walking up to it from here; if it
/// does not reach `start`, they are unknown.
void walk_with_all_registers(const Registers& start, const StackBounds& bounds, Trace& out);

namespace {

std::size_t fold_cycles(std::uint64_t* frames, std::size_t count, std::size_t period) {
  std::size_t kept = 0;
  std::size_t same = 0;  // Frames in a row that equal the one a period before.
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t frame = frames[i];
    same = kept >= period && frames[kept - period] == frame ? same + 1 : 0;
    frames[kept++] = frame;
    if (same == 2 * period) {
      kept -= period;
      same -= period;
    }
  }
  return kept;
}

}  // namespace

std::size_t fold(std::uint64_t* frames, std::size_t count) {
  for (std::size_t period = 1; period <= kLongestCycle; ++period) {
    count = fold_cycles(frames, count, period);
  }
  return count;
}

/// Returns the number of frames left.
std::size_t Recorder::fold_own() {
  const auto count = static_cast<std::size_t>(next_ - trace_->frames);
  const std::size_t kept = fold(trace_->frames, count);
  trace_->folded += count - kept;
  next_ = trace_->frames + kept;
  return kept;
}

/// False: enough was followed, or too little of it is recursion. Passes over what is kept must stay
/// rare beside the steps of the walk.
GEIGER_SLOW_PATH bool Recorder::make_room_slow() {
  const auto followed = static_cast<std::size_t>(next_ - trace_->frames) + trace_->folded;
  if (followed >= trace_->most) return false;
  const std::size_t kept = fold_own();
  end_ = trace_->frames + std::min(trace_->capacity, kept + (trace_->most - followed));
  return kept <= trace_->capacity / 2;
}

/// Also hashes again, so that recursions of any depth are one stack.
GEIGER_SLOW_PATH void Recorder::fold_rest_slow() {
  fold_own();
  hash_ = 0;
  for (const std::uint64_t* frame = trace_->frames; frame != next_; ++frame) {
    FoundModule found;
    hash(*frame, find_module(*frame - 1, found) ? found.id : 0);
  }
}

namespace {

/// Most frames of ours between here and the start of any walk in capture.
constexpr int kMaxOwnFrames = 32;

/// An unknown register is 0: no frame can be based on it.
struct Machine {
  std::uint64_t ip, sp;
  std::uint64_t saved[kSlots - 1];  // By Slot, without the return address.
  bool is_sp_bound;                 // The stack pointer is at least sp (unwind.cc).

  [[nodiscard]] std::uint64_t& operator[](Slot slot) {
    return saved[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] std::uint64_t operator[](Slot slot) const {
    return saved[static_cast<std::size_t>(slot)];
  }
};

enum class StepResult : std::uint8_t { kStepped, kSteppedFromSignal, kEnd, kLost };

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

StepResult step_by_row(Machine& at, const FoundRow& found, StackMemory& stack) {
  const Place& ip = found.row[Slot::kReturnAddress];
  if (ip.kind == Place::Kind::kUndefined) return StepResult::kEnd;
  std::uint64_t cfa = 0;
  if (!find_cfa(at, found.row, stack, cfa)) return StepResult::kLost;
  // An interrupted function may not have saved anything yet: then its frame is empty.
  const bool is_in_register = ip.kind == Place::Kind::kSame;
  const std::uint64_t link = is_in_register ? machine::link_of(at) : 0;
  const bool is_empty = link != 0 && cfa == at.sp;
  if (!found.is_signal_frame && !is_empty && !stack.is_step(at.sp, cfa)) return StepResult::kLost;
  Machine caller = at;
  caller.sp = cfa;
  caller.ip = link;
  caller.is_sp_bound = false;
  // An unknown return address, although 0, does not end the stack.
  if (is_in_register ? link == 0 : apply(at, cfa, ip, stack, caller.ip) != Value::kKnown)
    return StepResult::kLost;
  caller.ip = machine::stripped(caller.ip);
  machine::forget_link(caller);
  for (std::size_t slot = 0; slot + 1 < kSlots; ++slot) {
    const Place& place = found.row.places[slot];
    if (apply(at, cfa, place, stack, caller.saved[slot]) == Value::kUnreadable)
      return StepResult::kLost;
  }
  at = caller;
  if (!found.is_signal_frame) return StepResult::kStepped;
  stack.enter(at.sp);
  return StepResult::kSteppedFromSignal;
}

StepResult step_without_row(Machine& at, StackMemory& stack) {
  Registers registers{at.ip, at.sp, at[Slot::kFramePointer]};
  if (!step_by_frame_pointer(registers, stack)) return StepResult::kLost;
  at = {registers.ip, registers.sp, {}, !machine::kPushesReturnAddress};
  at[Slot::kFramePointer] = registers.bp;
  return StepResult::kStepped;
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
StepResult step(Position& position, StackMemory& stack, std::uint32_t& module) {
  FoundRow found;
  const std::uint64_t pc = position.at.ip - (position.is_exact ? 0 : 1);
  const Registers registers{position.at.ip, position.at.sp, position.at[Slot::kFramePointer]};
  const bool has_row = find_full_row(pc, registers, stack, found, module);
  StepResult outcome = StepResult::kStepped;
  if (has_row) {
    outcome = step_by_row(position.at, found, stack);
  } else if (!position.is_exact || module == 0 || !leave_by_link(position.at)) {
    outcome = step_without_row(position.at, stack);
  }
  position.is_exact = outcome == StepResult::kSteppedFromSignal;
  return outcome;
}

/// Walks our own frames up to `start`.
bool climb_to(const Registers& start, Position& position, StackMemory& stack) {
  for (int i = 0; i < kMaxOwnFrames && position.at.sp < start.sp; ++i) {
    std::uint32_t module = 0;
    const StepResult outcome = step(position, stack, module);
    if (outcome != StepResult::kStepped && outcome != StepResult::kSteppedFromSignal) return false;
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
    const StepResult outcome = step(position, stack, module);
    if (!recorder.push_or_fold(at, frame, module)) break;
    if (outcome == StepResult::kSteppedFromSignal) recorder.pass_signal();
    if (outcome == StepResult::kEnd) recorder.reach_end();
    if (outcome == StepResult::kEnd || outcome == StepResult::kLost) break;
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

namespace {

enum class Outcome : std::uint8_t { kRecorded, kNeedsAllRegisters };

[[gnu::always_inline]] inline bool find_bp(const Registers& at, Rule rule, std::uint64_t cfa,
                                           StackMemory& stack, std::uint64_t& bp) {
  switch (rule.bp_place()) {
    case Rule::BpPlace::kFromCfa:
      return stack.read(cfa + rule.bp_offset(), bp);
    case Rule::BpPlace::kSame:
      return true;
    case Rule::BpPlace::kFromSp:
      return stack.read(at.sp + rule.bp_offset(), bp);
    case Rule::BpPlace::kFromBp:
      break;
  }
  return stack.read(at.bp + rule.bp_offset(), bp);
}

/// False: the rule does not fit the stack. `is_sp_bound`: the stack pointer is at least at.sp; in a
/// function with a frame pointer, that points to its saved value.
[[gnu::always_inline]] inline bool step_by_rule(Registers& at, Rule rule, StackMemory& stack,
                                                bool is_sp_bound) {
  std::uint64_t cfa = (rule.is_cfa_from_bp() ? at.bp : at.sp) + rule.cfa_offset();
  if (is_sp_bound && !rule.is_cfa_from_bp()) {
    if (rule.bp_place() != Rule::BpPlace::kFromCfa || rule.is_cfa_loaded()) return false;
    cfa = at.bp - rule.bp_offset();
  }
  if (rule.is_cfa_loaded() && !stack.read(cfa, cfa)) return false;
  if (!rule.is_signal_frame() && !stack.is_step(at.sp, cfa)) return false;
  std::uint64_t ip = 0;
  std::uint64_t bp = at.bp;
  const std::uint64_t ip_base = rule.is_ip_from_sp() ? at.sp : cfa;
  if (!stack.read(ip_base + rule.ip_offset(), ip)) return false;
  if (!find_bp(at, rule, cfa, stack, bp)) return false;
  at = {machine::stripped(ip), cfa, bp};
  if (rule.is_signal_frame()) stack.enter(cfa);
  return true;
}

/// Walks consecutive plain frames on readable stack: nearly all frames of most walks.
/// Rule::is_plain was determined when the rule was made, so one comparison replaces the checks of
/// both reads:
///   at.sp <= base < CFA <= end  =>  both words are in [at.sp, end)
///
/// A separate function, on copies, so that its variables stay in registers.
[[gnu::noinline]] void walk_plain(Registers& start, const StackMemory& stack, Recorder& recorder) {
  if (!stack.is_open_from(start.sp)) return;
  const std::uint64_t end = stack.end();
  Registers at = start;
  Recorder local = recorder;
  Rule rule;
  // No rule is ever stored for the pc before 0, the ip at a stack's end.
  while (Rules::find_plain(at.ip - 1, rule)) {
    std::uint64_t base = at.sp;
    if (rule.is_cfa_from_bp()) {
      base = at.bp;
      if (base - at.sp >= end - at.sp || base % 8 != 0) break;
    }
    const std::uint64_t cfa = base + rule.cfa_offset();
    if (cfa > end || !local.push(at, at.ip, rule.module())) break;
    const std::uint64_t saved_bp = StackMemory::load(cfa + rule.bp_offset());
    const std::uint64_t ip = StackMemory::load(cfa + rule.plain_ip_offset());
    at = {machine::stripped(ip), cfa, rule.saves_bp() ? saved_bp : at.bp};
  }
  start = at;
  recorder = local;
}

/// `follows_tables`: see Mode; if false, rules are used only for ends of stacks and signal frames.
[[gnu::always_inline]] inline Outcome walk_fast(Registers at, StackMemory& stack,
                                                bool follows_tables, Recorder& recorder) {
  Rules rules;
  std::uint64_t after_signal = 0;  // 1: at.ip is not a return address.
  bool is_sp_bound = false;        // See step_by_rule().
  for (;;) {
    if (follows_tables && after_signal == 0 && !is_sp_bound) walk_plain(at, stack, recorder);
    if (static_cast<std::int64_t>(at.ip) <= 0) [[unlikely]] {
      if (at.ip == 0) break;
      return Outcome::kRecorded;  // No address has bit 63: it marks interpreted frames.
    }
    const Rule rule = rules.find(at.ip - 1 + after_signal, at, stack);
    if (!recorder.push_or_fold(at, at.ip + after_signal, rule.module())) return Outcome::kRecorded;
    Rule::Kind kind = rule.kind();
    if (kind == Rule::Kind::kEnd) break;
    if (!follows_tables && !rule.is_signal_frame()) kind = Rule::Kind::kFramePointer;
    if (kind == Rule::Kind::kAllRegisters) [[unlikely]] {
      return Outcome::kNeedsAllRegisters;
    }
    const bool stepped = kind == Rule::Kind::kStep ? step_by_rule(at, rule, stack, is_sp_bound)
                                                   : step_by_frame_pointer(at, stack);
    if (!stepped) return Outcome::kRecorded;
    is_sp_bound = !machine::kPushesReturnAddress && kind != Rule::Kind::kStep;
    after_signal = rule.is_signal_frame() ? 1 : 0;
    if (after_signal != 0) recorder.pass_signal();
  }
  recorder.reach_end();
  return Outcome::kRecorded;
}

}  // namespace

void walk(const Registers& start, const StackBounds& bounds, Mode mode, Trace& out) {
  StackMemory stack(bounds, reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
  stack.enter(start.sp);
  Recorder recorder(out);
  const Outcome outcome = walk_fast(start, stack, mode == Mode::kAuto, recorder);
  recorder.finish();
  if (outcome == Outcome::kNeedsAllRegisters) walk_with_all_registers(start, bounds, out);
}

Registers leave(const Registers& start, const StackBounds& bounds, const AddressRange& one,
                const AddressRange& other) {
  constexpr int kMostFrames = 16;
  StackMemory stack(bounds, reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
  stack.enter(start.sp);
  Rules rules;
  Registers at = start;
  bool is_sp_bound = false;  // See step_by_rule().
  for (int i = 0; i < kMostFrames; ++i) {
    if (!one.holds(at.ip - 1) && !other.holds(at.ip - 1)) return at;
    const Rule rule = rules.find(at.ip - 1, at, stack);
    const bool has_rule = rule.kind() == Rule::Kind::kStep;
    const bool stepped =
        has_rule ? step_by_rule(at, rule, stack, is_sp_bound) : step_by_frame_pointer(at, stack);
    if (!stepped || rule.is_signal_frame()) break;
    is_sp_bound = !machine::kPushesReturnAddress && !has_rule;
  }
  return start;
}

void expect(const std::uint64_t* frames, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) Rules::prefetch(frames[i] - 1);
}

}  // namespace geiger::unwind
