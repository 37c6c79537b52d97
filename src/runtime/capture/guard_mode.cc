#include "runtime/capture/guard_mode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/record_stack.h"
#include "runtime/capture/tables/filter.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/thread_state.h"
#include "sampling/samplers.h"
#include "trace/writer.h"

namespace geiger::capture {

namespace {

using guard::Slot;
using guard::SlotState;
using trace::FaultKind;
using vocabulary::Access;

bool is_freed(const Slot& slot) {
  const SlotState state = slot.state.load(std::memory_order_acquire);
  return state == SlotState::kFreed || state == SlotState::kEnding;
}

/// The stack's reference in this segment. A stack of another segment, or of the process before
/// fork, is written again, as far as its frames were kept.
trace::Ref stack_in(Segment& segment, const guard::KeptStack& kept) {
  if (kept.ref != 0 && kept.segment == segment.number.load(std::memory_order_relaxed)) {
    return kept.ref;
  }
  return kept.count == 0 ? 0 : record_frames(segment, kept.frames, kept.count);
}

void fill_object(trace::FaultRecord& record, Segment& segment, const Slot& slot) {
  record.object = slot.object;
  record.bytes = slot.bytes;
  record.allocated = slot.allocated.time;
  record.allocated_by = static_cast<std::uint32_t>(slot.allocated.thread);
  record.allocated_stack = stack_in(segment, slot.allocated.stack);
  if (!is_freed(slot)) return;
  record.freed = slot.freed.time;
  record.freed_by = static_cast<std::uint32_t>(slot.freed.thread);
  record.freed_stack = stack_in(segment, slot.freed.stack);
}

/// A child by fork that has not allocated yet has no trace. One is opened, except in a handler on
/// an alternate stack, which may be too small.
bool may_begin_here(const unwind::Registers& at) {
  constexpr std::uint64_t kSameStack = 64 * kKiB;
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  return at.sp - here < kSameStack;
}

}  // namespace

void keep_stack(guard::KeptStack& kept, const Segment& segment, const ThreadState& state,
                trace::Ref stack) {
  kept.segment = segment.number.load(std::memory_order_relaxed);
  kept.ref = stack;
  kept.count = std::min<std::uint64_t>(state.last_count, guard::kKeptFrames);
  if (kept.count != 0) memcpy(kept.frames, state.last_frames, kept.count * sizeof kept.frames[0]);
}

Fault trapped_at(Address address, Access access) {
  const Slot* slot = guard::nearest_slot(address);
  if (slot == nullptr || is_freed(*slot)) return {FaultKind::kUseAfterFree, access, address, slot};
  const FaultKind kind = address < slot->object ? FaultKind::kUnderflow : FaultKind::kOverflow;
  return {kind, access, address, slot};
}

Fault refused_free_of(Address address) {
  const Slot* slot = guard::nearest_slot(address);
  const bool was_object = slot != nullptr && slot->object == address && is_freed(*slot);
  return {was_object ? FaultKind::kDoubleFree : FaultKind::kInvalidFree, Access::kFree, address,
          slot};
}

GEIGER_SLOW_PATH void report(const Fault& fault, const unwind::Registers& at) {
  if (!is_recording() && (!may_begin_here(at) || start_if_due() == Readiness::kNotRecording)) {
    return;
  }
  ThreadState* state = known_state();
  if (state == nullptr) return;
  const PinnedSegment segment(*state);
  if (!enrol(*state, *segment)) return;
  trace::FaultRecord found{};
  found.time = base::monotonic_now();
  found.kind = fault.kind;
  found.access = fault.access;
  found.address = fault.address;
  found.stack = record_native_stack(*segment, *state, at);
  if (fault.slot != nullptr) fill_object(found, *segment, *fault.slot);
  trace::append<trace::FaultRecord>(
      segment->writer, {.thread = state->index},
      [&](trace::FaultRecord& record) { trace::copy_body(record, found); });
}

namespace {

enum class Trap : std::uint32_t { kUnset = 0, kSetting, kSet, kGivenUp };
constinit std::atomic<Trap> trap{Trap::kUnset};

constinit SetAction set_action = nullptr;

constinit std::uint64_t freeing_functions[2]{};

/// Whether `ip` is within the first bytes of one, which read the memory before the block.
bool is_in_freeing_function(std::uint64_t ip) {
  constexpr std::uint64_t kLookBytes = 256;
  return ip - freeing_functions[0] < kLookBytes || ip - freeing_functions[1] < kLookBytes;
}

/// The program's actions; each new one gets the next place. So a handler reads a consistent one,
/// unless kPlaces actions are set meanwhile.
constexpr std::size_t kPlaces = 16;
constinit struct sigaction actions[kPlaces] {};
constinit std::atomic<std::size_t> last_place{0};
constinit std::atomic<std::size_t> current_place{0};

void keep_action(const struct sigaction& action) {
  const std::size_t place = (last_place.fetch_add(1, std::memory_order_relaxed) + 1) % kPlaces;
  actions[place] = action;
  current_place.store(place, std::memory_order_release);
}

const struct sigaction& action_of_program() {
  return actions[current_place.load(std::memory_order_acquire)];
}

bool is_ignoring(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}
bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

void put_in_force(const struct sigaction& action) { set_action(SIGSEGV, &action, nullptr); }

#if defined(__x86_64__)
unwind::Registers registers_of(const ucontext_t& context) {
  const auto& registers = context.uc_mcontext.gregs;
  // + 1, as for a return address (unwind::Trace).
  return {static_cast<std::uint64_t>(registers[REG_RIP]) + 1,
          static_cast<std::uint64_t>(registers[REG_RSP]),
          static_cast<std::uint64_t>(registers[REG_RBP])};
}
vocabulary::Access access_of(const ucontext_t& context) {
  constexpr greg_t kWrites = 2;  // A bit of the page fault's error code.
  return (context.uc_mcontext.gregs[REG_ERR] & kWrites) != 0 ? vocabulary::Access::kWrite
                                                             : vocabulary::Access::kRead;
}
#elif defined(__aarch64__)
unwind::Registers registers_of(const ucontext_t& context) {
  constexpr std::size_t kFramePointer = 29;
  return {context.uc_mcontext.pc + 1, context.uc_mcontext.sp,
          context.uc_mcontext.regs[kFramePointer]};
}
/// The kernel reports the access in a record that emulators omit.
vocabulary::Access access_of(const ucontext_t& /*context*/) { return vocabulary::Access::kUnknown; }
#else
#error "where does the kernel put the registers here?"
#endif

/// Sends a signal again that no instruction caused: it arrives when the handler returns.
void send_again(int signal, const siginfo_t& info) {
  const long pid = base::raw_syscall(SYS_getpid);
  const long tid = base::raw_syscall(SYS_gettid);
  const long sent =
      base::raw_syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, reinterpret_cast<long>(&info));
  if (base::is_error(sent)) base::raw_syscall(SYS_tgkill, pid, tid, signal);
}

void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction action = action_of_program();
  if (is_default(action) || is_ignoring(action)) {
    give_up_trap();
    if (info->si_code <= 0) send_again(signal, *info);
    return;
  }
  if ((action.sa_flags & SA_RESETHAND) != 0) {
    trap.store(Trap::kGivenUp, std::memory_order_relaxed);
    struct sigaction reset {};
    reset.sa_handler = SIG_DFL;
    put_in_force(reset);
  }
  // Without SA_SIGINFO the handler uses only the first argument.
  action.sa_sigaction(signal, info, context);
}

/// Set by the thread whose trap is reported; other threads trap repeatedly until its report is
/// done.
constinit std::atomic<bool> is_reported{false};

void handle(int signal, siginfo_t* info, void* context) {
  const int before = errno;
  const auto address = reinterpret_cast<Address>(info->si_addr);
  if (info->si_code <= 0 || !guard::owns(info->si_addr)) {
    errno = before;
    return pass_on(signal, info, context);
  }
  if (!is_reported.exchange(true, std::memory_order_relaxed)) {
    const auto& interrupted = *static_cast<const ucontext_t*>(context);
    const unwind::Registers at = registers_of(interrupted);
    Fault fault = trapped_at(address, access_of(interrupted));
    if (is_in_freeing_function(at.ip)) {
      fault.kind = trace::FaultKind::kBypassingFree;
      fault.access = vocabulary::Access::kFree;
    }
    report(fault, at);
    give_up_trap();
  }
  errno = before;
}

/// Our action, with the flags and mask of the program's.
struct sigaction ours_over(const struct sigaction& program) {
  struct sigaction ours = program;
  ours.sa_sigaction = handle;
  ours.sa_flags = (program.sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
  if (is_default(program)) ours.sa_flags |= SA_ONSTACK;
  return ours;
}

/// Whether this is a child of vfork: it has its own actions, but shares its parent's memory.
bool is_in_vfork() {
  return is_own_process->load(std::memory_order_relaxed) != 0 &&
         current_segment().writer.header()->pid !=
             static_cast<std::uint32_t>(base::raw_syscall(SYS_getpid));
}

/// A child of vfork soon calls exec: its actions take effect at once, and only in the child.
void act_for_child(const struct sigaction* wanted, struct sigaction* before) {
  struct sigaction action {};
  set_action(SIGSEGV, wanted, &action);
  if ((action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle) {
    action = action_of_program();
  }
  if (before != nullptr) *before = action;
}

}  // namespace

void set_signal_function(SetAction function) { set_action = function; }

void set_freeing_functions(const void* free, const void* realloc) {
  freeing_functions[0] = reinterpret_cast<std::uint64_t>(free);
  freeing_functions[1] = reinterpret_cast<std::uint64_t>(realloc);
}

bool is_trap_set() { return trap.load(std::memory_order_acquire) == Trap::kSet; }

bool is_trap_given_up() { return trap.load(std::memory_order_acquire) == Trap::kGivenUp; }

bool set_trap() {
  Trap seen = trap.load(std::memory_order_acquire);
  if (seen == Trap::kSet) return true;
  if (set_action == nullptr || seen != Trap::kUnset ||
      !trap.compare_exchange_strong(seen, Trap::kSetting, std::memory_order_acq_rel)) {
    return false;
  }
  struct sigaction program {};
  const bool is_known = set_action(SIGSEGV, nullptr, &program) == 0;
  if (!is_known || is_ignoring(program)) {
    trap.store(Trap::kUnset, std::memory_order_release);
    return false;
  }
  keep_action(program);
  put_in_force(ours_over(program));
  trap.store(Trap::kSet, std::memory_order_release);
  return true;
}

void give_up_trap() {
  if (trap.exchange(Trap::kGivenUp, std::memory_order_acq_rel) == Trap::kSet) {
    put_in_force(action_of_program());
  }
}

void act_for_program(const struct sigaction* wanted, struct sigaction* before) {
  if (is_in_vfork()) return act_for_child(wanted, before);
  const struct sigaction action = action_of_program();
  if (wanted != nullptr) {
    keep_action(*wanted);
    if (is_ignoring(*wanted)) {
      trap.store(Trap::kUnset, std::memory_order_release);
      put_in_force(*wanted);
    } else {
      put_in_force(ours_over(*wanted));
    }
  }
  if (before != nullptr) *before = action;
}

namespace {

using guard::Slot;
using vocabulary::GuardObstacle;

/// Tosses so far in this process. Each toss takes the next number of one sequence.
constinit std::atomic<std::uint64_t> tosses{0};

struct Toss {
  bool is_chosen;  ///< With probability 1 / rate.
  guard::Side side;
};

Toss toss(std::uint32_t setting) {
  const std::uint64_t rate = trace::guard_rate_of(setting);
  std::uint64_t state =
      image.origin.seed + tosses.fetch_add(1, std::memory_order_relaxed) * 0xd1342543de82ef95U;
  const std::uint64_t drawn = sampling::splitmix64(state);
  const guard::Side right =
      (setting & trace::kGuardExact) != 0 ? guard::Side::kEnd : guard::Side::kRight;
  return {rate != 0 && (drawn >> 32) * rate >> 32 == 0,
          (drawn & 1) != 0 ? right : guard::Side::kLeft};
}

constinit bool is_forbidden = false;

/// Whether guarding is possible; records the obstacle in the trace.
bool is_possible(trace::FileHeader& header) {
  GuardObstacle obstacle = GuardObstacle::kNone;
  if (is_forbidden) {
    obstacle = GuardObstacle::kPrivateFrees;
  } else if (is_confined()) {
    obstacle = GuardObstacle::kConfined;
  } else if (!set_trap()) {
    obstacle = is_trap_given_up() ? GuardObstacle::kFaulted : GuardObstacle::kIgnoresTraps;
  } else if (!guard::open_slots()) {
    obstacle = GuardObstacle::kNoMemory;
  }
  header.guard_obstacle.store(obstacle, std::memory_order_relaxed);
  return obstacle == GuardObstacle::kNone;
}

/// Takes a slot and removes its last object's marks from the filter.
Slot* take_unmarked() {
  const std::size_t mask = filter.mask();  // Before take_slot() clears the object.
  Slot* slot = guard::take_slot();
  if (slot != nullptr && slot->is_marked) {
    for_each_address(*slot, [mask](Address address, std::uint64_t) {
      filter.remove(reinterpret_cast<const void*>(address), mask);
    });
    slot->is_marked = false;
  }
  return slot;
}

GEIGER_SLOW_PATH void* place_chosen(trace::FileHeader& header, void* block, std::size_t bytes,
                                    std::size_t alignment, guard::Side side) {
  if (!is_possible(header)) return block;
  header.guard_chosen.fetch_add(1, std::memory_order_relaxed);
  if (!guard::fits(bytes, alignment)) {
    header.guard_large.fetch_add(1, std::memory_order_relaxed);
    return block;
  }
  Slot* slot = take_unmarked();
  if (slot == nullptr || !guard::prepare(*slot, bytes, alignment, side)) {
    header.guard_full.fetch_add(1, std::memory_order_relaxed);
    return block;
  }
  image.intervals.governor.spend(Governor::kGuardCost);
  void* object = reinterpret_cast<void*>(slot->object);
  memcpy(object, block, bytes);
  guard::publish(*slot, block);
  for_each_address(*slot, [](Address address, std::uint64_t) {
    filter.add(reinterpret_cast<const void*>(address));
  });
  slot->is_marked = true;
  return object;
}

/// Fills in thread, time and, if there is a trace, the stack.
void note(guard::Event& event, const unwind::Registers& caller) {
  event.time = base::monotonic_now();
  event.thread = own_thread_id();
  if (!is_recording()) return;
  ThreadState* state = known_state();
  if (state == nullptr) return;
  const PinnedSegment segment(*state);
  if (!enrol(*state, *segment)) return;
  keep_stack(event.stack, *segment, *state, record_stack(*segment, *state, caller));
}

/// The setting that is in force, which the trace then has.
std::uint32_t current_setting(trace::Writer& writer) {
  const std::uint32_t asked = writer.control()->requested_guard.load(std::memory_order_relaxed);
  std::atomic<std::uint32_t>& setting = writer.header()->guard_setting;
  const std::uint32_t before = setting.load(std::memory_order_relaxed);
  if (asked == 0 || asked == before) [[likely]]
    return before;
  if (setting.exchange(asked, std::memory_order_relaxed) != asked) {
    writer.header()->guard_changes.fetch_add(1, std::memory_order_relaxed);
  }
  return asked;
}

}  // namespace

bool may_guard() { return initial_value("GEIGER_GUARD") != nullptr; }

void forbid_guarding() { is_forbidden = true; }

void* place(const Decision& decision, void* block, std::size_t bytes, std::size_t alignment) {
  if (image.settings.guard == 0 || !decision.is_sample || !is_recording()) [[likely]]
    return block;
  trace::Writer& writer = current_segment().writer;
  const Toss tossed = toss(current_setting(writer));
  if (!tossed.is_chosen) return block;
  return place_chosen(*writer.header(), block, bytes, alignment, tossed.side);
}

void note_allocation(const void* address, Segment& segment, const ThreadState& state,
                     trace::Ref stack) {
  Slot* slot = guard::slot_of(address);
  if (slot == nullptr) return;
  slot->allocated.time = base::monotonic_now();
  slot->allocated.thread = state.tid;
  keep_stack(slot->allocated.stack, segment, state, stack);
}

std::size_t guarded_bytes(const void* object) {
  const Slot* slot = guard::slot_of(object);
  const bool lives =
      slot != nullptr && slot->state.load(std::memory_order_acquire) == guard::SlotState::kLive;
  return lives ? slot->bytes : 0;
}

Slot* hold(const void* object, const unwind::Registers& caller) {
  Slot* slot = guard::slot_of(object);
  if (slot != nullptr && guard::claim(*slot)) return slot;
  report(refused_free_of(reinterpret_cast<Address>(object)), caller);
  return nullptr;
}

void* block_behind(const void* address) {
  const auto at = reinterpret_cast<Address>(address);
  const Slot* slot = guard::nearest_slot(at);
  const bool is_inside = slot != nullptr && at >= slot->object && at - slot->object < slot->bytes;
  return is_inside ? static_cast<char*>(slot->block) + (at - slot->object) : nullptr;
}

void* refreshed_block(const Slot& slot) {
  memcpy(slot.block, reinterpret_cast<const void*>(slot.object), slot.bytes);
  return slot.block;
}

void end_held(Slot& slot, const unwind::Registers& caller) {
  note(slot.freed, caller);
  if (const Address written = guard::damage_of(slot); written != 0) {
    const bool is_behind = written >= slot.object;
    report({is_behind ? trace::FaultKind::kOverflow : trace::FaultKind::kUnderflow,
            vocabulary::Access::kEarlierWrite, written, &slot},
           caller);
  }
  guard::retire(slot);
  image.intervals.governor.spend(Governor::kGuardCost);
}

void end_after_fault() {
  give_up_trap();
  abort();
}

}  // namespace geiger::capture
