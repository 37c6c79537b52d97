#include "runtime/unwind/frame_pointer.h"
#include "runtime/unwind/full_walk.h"
#include "runtime/unwind/recorder.h"
#include "runtime/unwind/rules.h"
#include "runtime/unwind/unwind.h"

namespace geiger::unwind {
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
