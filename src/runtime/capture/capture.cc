#include "runtime/capture/capture.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/attach.h"
#include "runtime/capture/checkpoint.h"
#include "runtime/capture/confinement.h"
#include "runtime/capture/countdown.h"
#include "runtime/capture/dormancy.h"
#include "runtime/capture/events.h"
#include "runtime/capture/image.h"
#include "runtime/capture/live_samples.h"
#include "runtime/capture/names.h"
#include "runtime/capture/record_stack.h"
#include "runtime/capture/residency_answer.h"
#include "runtime/capture/tally.h"
#include "runtime/capture/thread_state.h"
#include "runtime/capture/utilization.h"
#include "sampling/prng.h"
#include "trace/append.h"

namespace geiger::capture {
namespace {

using base::is_error;
using base::raw_syscall;
using sampling::Verdict;

/// The counter of a thread that is never to be asked again (2^63 bytes away).
constexpr std::uint64_t kNever = std::uint64_t{1} << 63;

/// The counter while decide() runs: room for what a signal handler allocates, and
/// few enough bytes that a thread which jumped out of decide() comes back soon.
constexpr std::uint64_t kGrace = kMiB;

/// No address space holds more (x86-64, aarch64).
constexpr Bytes kLargestSize = Bytes{1} << 47;

/// How long a thread that cannot draw is not to ask again. A process that sleeps looks up as
/// often as one that records does at least; an attached one may be attached again.
std::uint64_t sleep_of(Phase phase) {
  if (phase == Phase::kStarting) return 0;
  if (sleeps()) return image.settings.interval - 1;
  return image.origin.is_attached ? kGrace : kNever;
}

std::uint16_t current_cpu() {
  const int cpu = sched_getcpu();
  return cpu < 0 || cpu >= trace::kUnknownCpu ? trace::kUnknownCpu
                                              : static_cast<std::uint16_t>(cpu);
}

/// Of bytes that a handler counts too, in the middle of its thread's addition: not add().
void add_allocated(ThreadState& state, std::uint64_t bytes) {
  state.allocated.fetch_add(bytes, std::memory_order_relaxed);
}

/// From here until arm() the counter and what it is settled to do not belong together.
void begin_change(ThreadState& state) {
  state.settling.store(state.settling.load(std::memory_order_relaxed) | 1,
                       std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
}
void end_change(ThreadState& state) {
  const std::uint32_t odd = state.settling.load(std::memory_order_relaxed) | 1;
  state.settling.store(odd + 1, std::memory_order_release);
}

/// T and lambda of an epoch, from its record: of the image's own fields one may be newer
/// than another while the interval changes.
struct Drawing {
  std::uint64_t interval;
  double lambda;
};
Drawing drawing_in(const Segment& segment, trace::Ref epoch) {
  const auto& record = segment.writer.at<trace::EpochRecord>(epoch);
  return {record.interval, __builtin_bit_cast(double, record.lambda_bits)};
}

/// A thread's first record in this image.
bool enrol_first(ThreadState& state, Segment& segment) {
  const std::uint32_t index = image.threads.fetch_add(1, std::memory_order_relaxed) + 1;
  if (index > trace::kMaxThread) return false;
  const bool is_forked = state.generation != 0;
  if (is_forked) state.tid = own_thread_id();
  const bool is_main = state.tid == segment.writer.header()->pid;
  state.is_foreign = !is_main && tls.stack_high == 0;
  // What was allocated before is not this image's: nothing to settle.
  if (state.armed.load(std::memory_order_relaxed) != kTaken)
    state.armed.store(0, std::memory_order_relaxed);
  state.index = index;
  state.start = base::monotonic_now();
  state.has_name = false;
  trace::ThreadRecord* record = write_thread(segment, state, 0);
  if (record == nullptr) return false;
  state.record = record;
  const trace::Ref epoch = segment.epoch.ref.load(std::memory_order_acquire);
  state.epoch.store(epoch, std::memory_order_relaxed);
  const Drawing drawing = drawing_in(segment, epoch);
  state.sampler.start(sampling::thread_seed(image.origin.seed, index), drawing.interval,
                      drawing.lambda, image.settings.is_pure);
  state.generation = image.origin.generation;
  return true;
}

/// Goes on in another segment with the trials that are pending.
bool enrol_again(ThreadState& state, Segment& segment) {
  const trace::Ref epoch = epoch_of_interval(segment, state.sampler.interval());
  if (epoch == 0) return false;
  trace::ThreadRecord* record = write_thread(segment, state, 0);
  if (record == nullptr) return false;
  state.record = record;
  state.epoch.store(epoch, std::memory_order_relaxed);
  return true;
}

/// Takes `bytes` that passed without trial (a handler allocated inside decide())
/// off the skip count. A sample among them cannot be recorded any more.
void settle_unseen(ThreadState& state, std::uint64_t bytes) {
  const Verdict verdict = state.sampler.trial(bytes);
  add_allocated(state, bytes);
  add(state.record->bytes, bytes);
  add(state.record->trials, bytes);
  if (verdict.kind == Verdict::Kind::kNotSampled) return;
  current_segment().writer.count_drop(trace::DropCause::kReentered);
}

/// Settles the bytes since the counter was armed, given what it holds now.
void settle_state(ThreadState& state, std::uint64_t armed, std::uint64_t rest) {
  const std::uint64_t unseen = settle(state.sampler, armed, rest, [&state](std::uint64_t failed) {
    add_allocated(state, failed);
    if (is_paused()) return;
    add(state.record->bytes, failed);
    add(state.record->trials, failed);
  });
  // A handler allocated between the fast path and decide(). Out of all proportion: a handler
  // jumped out of decide() there, the rest is unknown.
  if (unseen != 0 && unseen <= kGrace) settle_unseen(state, unseen);
}

/// A thread's record in the trace, as totals of decided allocations.
struct RecordTotals {
  trace::ThreadRecord& record;

  void tried(std::uint64_t bytes) const { add(record.trials, bytes); }
  void hit(std::uint64_t tail_bytes) const {
    add(record.tail_bytes, tail_bytes);
    add(record.hits, std::uint64_t{1});
  }
  void certain(Bytes bytes) const {
    add(record.certain_bytes, bytes);
    add(record.certain_count, std::uint64_t{1});
  }
};

/// Adds one decided allocation to the thread's totals.
void count(const ThreadState& state, Bytes size, const Verdict& verdict) {
  add(state.record->bytes, size);
  add(state.record->calls, std::uint64_t{1});
  count_decided(RecordTotals{*state.record}, size, verdict);
}

/// Hands the counter back to the fast path. What handlers allocated since
/// decide() took it is put to trial first.
void arm(ThreadState& state) {
  const std::uint64_t armed = arm_countdown(
      tls.countdown, kGrace, [&state] { return state.is_ending ? 0 : state.sampler.countdown(); },
      [&state](std::uint64_t bytes) { settle_unseen(state, bytes); });
  state.record->pending.store(0, std::memory_order_relaxed);
  state.record->armed.store(armed, std::memory_order_relaxed);
  state.armed.store(armed, std::memory_order_relaxed);
  state.last_armed.store(armed, std::memory_order_relaxed);
  end_change(state);
}

/// A decide() of this thread has not finished. Was it left by a jump (siglongjmp
/// out of a handler), or does a handler allocate inside it? Inside, every further
/// frame is deeper, and a handler hardly allocates a grace of bytes many times.
bool was_abandoned(ThreadState& state, const void* frame) {
  constexpr std::uint32_t kTooMany = 16;
  if (frame >= state.deciding_frame || ++state.nested_decisions > kTooMany) return true;
  current_segment().writer.count_drop(trace::DropCause::kReentered);
  return false;
}

void adopt_epoch(ThreadState& state, Segment& segment) {
  follow_control(segment);
  const trace::Ref epoch = segment.epoch.ref.load(std::memory_order_acquire);
  if (state.epoch.load(std::memory_order_relaxed) == epoch) return;
  state.epoch.store(epoch, std::memory_order_relaxed);
  const Drawing drawing = drawing_in(segment, epoch);
  state.sampler.change_interval(drawing.interval, drawing.lambda);
}

Decision decide_in(ThreadState& state, Segment& segment, Bytes size, bool is_fresh) {
  const void* frame = __builtin_frame_address(0);
  begin_change(state);
  const std::uint64_t rest = take_countdown(tls.countdown, kGrace, size);
  const std::uint64_t armed = state.armed.exchange(kTaken, std::memory_order_relaxed);
  const bool restarts = armed == kTaken;
  add_allocated(state, size);
  if (restarts && !was_abandoned(state, frame)) {
    exchange_countdown(rest);
    return {};
  }
  state.deciding_frame = frame;
  state.nested_decisions = 0;
  if (!restarts && !is_fresh) settle_state(state, armed, rest);
  const Verdict verdict = state.sampler.decide(size);
  if (verdict.kind != Verdict::Kind::kNotSampled) expect_stack(state);
  const bool counts = !is_paused();
  if (counts) count(state, size, verdict);
  const trace::Ref epoch = state.epoch.load(std::memory_order_relaxed);
  const std::uint64_t interval = state.sampler.interval();
  adopt_epoch(state, segment);
  arm(state);
  return {.state = &state,
          .offset = verdict.offset,
          .epoch = epoch,
          .interval = interval,
          .segment = segment.number.load(std::memory_order_relaxed),
          .is_sample = counts && verdict.kind != Verdict::Kind::kNotSampled,
          .is_certain = verdict.kind == Verdict::Kind::kCertain,
          .is_counted = counts};
}

void record_free(Segment& segment, ThreadState* state, std::uint64_t taken, trace::Ref stack,
                 std::uint8_t flags) {
  if (!is_of(segment, taken)) return;  // The parent's sample, or it ended with a segment.
  const auto sample = static_cast<trace::Ref>(taken);
  if (image.settings.aggregates) return tally_free(segment, sample);
  const trace::Heading heading{
      .thread = state == nullptr ? 0 : state->index, .flags = flags, .cpu = current_cpu()};
  const auto written =
      trace::append<trace::FreeRecord>(segment.writer, heading, [&](trace::FreeRecord& record) {
        record.time = base::monotonic_now();
        record.sample = sample;
        record.stack = stack;
      });
  if (!written) return segment.writer.count_drop(trace::DropCause::kTraceFull);
  image.intervals.governor.spend(Governor::kFreeCost);
  tell_freed(segment, state, sample, *written.record);
}

/// The allocator handed out an address whose sample we believe alive: its free
/// went past us (RTLD_DEEPBIND, static code, private APIs of the allocator).
void close_unseen(Segment& segment, ThreadState& state, const void* key) {
  const std::uint64_t taken = take_live(key);
  if (taken == 0) return;
  segment.writer.count_drop(trace::DropCause::kUnseenFree);
  record_free(segment, &state, taken, 0, trace::kFlagUnseen);
}

void record_name(Segment& segment, ThreadState& state) {
  char name[16] = {};
  if (is_error(raw_syscall(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(name)))) return;
  if (state.has_name && memcmp(name, state.name, sizeof name) == 0) return;
  memcpy(state.name, name, sizeof name);
  state.has_name = write_thread_name(segment, state);
}

unsigned log2_of(std::size_t alignment) {
  return alignment <= 1 ? 0 : static_cast<unsigned>(__builtin_ctzll(alignment));
}

Bytes clamped(Bytes size) { return std::min(size, trace::SampleRecord::kSizeMask); }

/// The names in force, as records of this trace, which precede the sample.
struct NameRefs {
  trace::Ref label;
  trace::Ref type;
};
NameRefs names_in_force(Segment& segment) {
  if ((tls.naming.label | tls.naming.type) == 0) [[likely]]
    return {};
  return {ref_of_name(segment, tls.naming.label), ref_of_name(segment, tls.naming.type)};
}

/// What was found of a sample before it is written.
struct Seen {
  trace::Ref stack;
  Nanoseconds time;
};

trace::SampleRecord sample_of(Segment& segment, const Decision& decision,
                              const Allocation& allocation, const Seen& seen) {
  const NameRefs names = names_in_force(segment);
  const bool is_here = decision.segment == segment.number.load(std::memory_order_relaxed);
  return {.header = 0,
          .time = seen.time,
          .stack = seen.stack,
          .epoch = is_here ? decision.epoch : epoch_of_interval(segment, decision.interval),
          .address = reinterpret_cast<std::uint64_t>(allocation.address),
          .requested_kind = clamped(allocation.requested) |
                            std::uint64_t{static_cast<std::uint8_t>(allocation.entry_point)} << 48 |
                            std::uint64_t{log2_of(allocation.alignment)} << 56,
          .usable_heap = clamped(allocation.usable) | std::uint64_t{allocation.heap} << 48,
          .offset = decision.offset,
          .label = names.label,
          .type = names.type};
}

std::uint8_t flags_of(const Decision& decision) {
  return decision.is_certain ? trace::kFlagCertain : std::uint8_t{0};
}

/// Writes the sample and returns what the live table is to know it by; 0: no room.
std::uint64_t write_sample(Segment& segment, const Decision& decision, const Allocation& allocation,
                           const Seen& seen) {
  const trace::Heading heading{
      .thread = decision.state->index, .flags = flags_of(decision), .cpu = current_cpu()};
  const trace::SampleRecord sample = sample_of(segment, decision, allocation, seen);
  const auto written = trace::append<trace::SampleRecord>(
      segment.writer, heading,
      [&](trace::SampleRecord& record) { trace::copy_body(record, sample); });
  if (!written) return 0;
  tell_sampled(segment, *decision.state, written.ref, *written.record);
  return live_value(segment, written.ref);
}

/// The same where samples are counted.
std::uint64_t count_sample(Segment& segment, const Decision& decision, const Allocation& allocation,
                           const Seen& seen, bool tracks) {
  const auto untracked = tracks ? std::uint8_t{0} : trace::kFlagUntracked;
  const trace::Ref counted = tally(segment, sample_of(segment, decision, allocation, seen),
                                   static_cast<std::uint8_t>(flags_of(decision) | untracked));
  return counted == 0 ? 0 : live_value(segment, counted);
}

/// From here on the free of the sample is of interest. Without memory it is not recorded.
void track(Segment& segment, const void* key, std::uint64_t value) {
  if (!insert_live(key, value)) {
    segment.writer.count_drop(trace::DropCause::kLiveTableFull);
  }
  Segment& now = *image.segments.current.load(std::memory_order_seq_cst);
  if (&now != &segment) carry(now, segment, reinterpret_cast<std::uint64_t>(key), value);
  thin_if_too_many(now);
}

void write_and_track(Segment& segment, const Decision& decision, const Allocation& allocation,
                     const Seen& seen, const void* key) {
  const bool is_counted = image.settings.aggregates;
  const bool tracks_address =
      is_counted && is_tracked(chance_of_address(reinterpret_cast<std::uint64_t>(key)));
  const std::uint64_t value =
      is_counted ? count_sample(segment, decision, allocation, seen, tracks_address)
                 : write_sample(segment, decision, allocation, seen);
  if (value == 0) return segment.writer.count_drop(trace::DropCause::kTraceFull);
  const bool tracks =
      is_counted
          ? tracks_address
          : is_tracked(chance_at(segment, sample_at(segment, static_cast<trace::Ref>(value))));
  if (tracks) track(segment, key, value);
}

/// The record that the end of the image finds a thread in: its own, or a new one if it has
/// not run since the segment began.
trace::ThreadRecord* last_record(Segment& segment, const ThreadState& state) {
  const bool is_here = state.segment == segment.number.load(std::memory_order_relaxed);
  return is_here ? state.record : write_thread(segment, state, 0);
}

/// Reads the counters of threads that are still alive, as the program exits.
/// They go on, so what they allocate from here stays bounded by `armed` alone.
void settle_others(Segment& segment, const ThreadState* self) {
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (state == self || state->is_foreign || state->generation != image.origin.generation)
      continue;
    state->reading.fetch_add(1, std::memory_order_seq_cst);
    const std::uint64_t armed = state->armed.load(std::memory_order_seq_cst);
    if (state->lifecycle.load(std::memory_order_seq_cst) == kLive && armed != kTaken) {
      const std::uint64_t rest = std::atomic_ref(*state->countdown).load(std::memory_order_relaxed);
      trace::ThreadRecord* record = rest <= armed ? last_record(segment, *state) : nullptr;
      if (record != nullptr) {
        record->pending.store(armed - rest, std::memory_order_relaxed);
        record->armed.store(0, std::memory_order_relaxed);
      }
    }
    state->reading.fetch_sub(1, std::memory_order_release);
  }
}

/// The calling thread is never asked again.
void forget_state() {
  exchange_countdown(kNever);
  tls.state->tid = 0;
  tls.state = nullptr;
}

/// Takes the counter out of use for as long as its thread settles it. False: it is
/// deciding already, further up its stack.
bool begin_settling(ThreadState& state) {
  begin_change(state);
  const std::uint64_t armed = state.armed.exchange(kTaken, std::memory_order_relaxed);
  if (armed == kTaken) return false;
  state.deciding_frame = __builtin_frame_address(0);
  settle_state(state, armed, take_countdown(tls.countdown, kGrace, 0));
  return true;
}

/// Settles what the calling thread has allocated; from here every allocation of
/// it does so itself.
void settle_for_good(ThreadState& state) {
  if (!begin_settling(state)) return;
  state.is_ending = true;
  arm(state);
}

/// When recording ends and the program runs on, nobody else settles threads that were
/// there before it began.
void settle_foreign(Segment& segment) {
  const std::uint32_t pid = segment.writer.header()->pid;
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (!state->is_foreign || state->generation != image.origin.generation) continue;
    const std::uint64_t armed = state->armed.load(std::memory_order_seq_cst);
    if (armed == kTaken) continue;
    const std::uint64_t rest = counter_of_foreign(*state, pid);
    if (rest > armed) continue;
    trace::ThreadRecord* record = last_record(segment, *state);
    if (record == nullptr) continue;
    record->pending.store(armed - rest, std::memory_order_relaxed);
    record->armed.store(0, std::memory_order_relaxed);
  }
}

/// Totals as final as they can be while others go on.
void end_recording(trace::State end) {
  Segment& segment = current_segment();
  ThreadState* self = own_state();
  if (self != nullptr && self->generation == image.origin.generation && enrol(*self, segment)) {
    record_name(segment, *self);
    settle_for_good(*self);
  }
  settle_others(segment, self);
  if (end == trace::State::kStopped) settle_foreign(segment);
  take_marks(segment);
  segment.writer.finish(end, base::monotonic_now());
}

/// exit(), after the program's own destructors that run before ours.
[[gnu::destructor]] void finish() {
  const bool is_ours = is_recording();
  if (is_ours) end_recording(trace::State::kExited);
  if (is_ours || is_asleep()) leave_rendezvous();
}

/// Somebody wants no recording any more. The allocation under way is not part of it.
GEIGER_SLOW_PATH void fall_asleep(Bytes size) {
  if (!claim_end()) return;
  tls.countdown += size;
  if (is_recording()) end_recording(trace::State::kStopped);
  if (ThreadState* self = own_state(); self != nullptr) self->is_ending = false;
  go_to_sleep();
}

/// Whether the process records, once what a sleeper is called for has been done.
Readiness readiness_now(Bytes size) {
  if (sleeps()) {
    const Due due = answer_calls();
    if (due == Due::kEndRecording) {
      fall_asleep(size);
    } else if (due != Due::kNothing && wake_up(due)) {
      return Readiness::kJustStarted;
    }
  }
  return start_if_due();
}

/// The process does not record: lets the thread run. Inside a decide() of its own that a
/// handler interrupted the counter stays as that left it.
Decision pass_unseen(Bytes size) {
  const ThreadState* state = own_state();
  if (sleeps() && state != nullptr && state->armed.load(std::memory_order_relaxed) == kTaken) {
    tls.countdown += size;
    return {};
  }
  exchange_countdown(sleep_of(image.phase.load(std::memory_order_relaxed)));
  return {};
}

/// The trace has no room for the thread. One in memory will again: the allocation is asked about
/// once more with the next one.
Decision pass_without_record(ThreadState& state, Segment& segment, Bytes size) {
  if (!image.settings.in_memory) {
    exchange_countdown(sleep_of(Phase::kOff));
    return {};
  }
  tls.countdown += size;
  add_allocated(state, size);
  segment.writer.count_drop(trace::DropCause::kTraceFull);
  if (is_next_due(segment)) go_on_in_next();
  return {};
}

}  // namespace

ThreadState* known_state() {
  ThreadState* state = own_state();
  if (state == nullptr) state = adopt_state(current_segment().writer.header()->pid);
  return state;
}

bool enrol(ThreadState& state, Segment& segment) {
  const std::uint32_t number = segment.number.load(std::memory_order_relaxed);
  if (state.segment == number) return true;
  const bool is_known = state.generation == image.origin.generation;
  if (!(is_known ? enrol_again(state, segment) : enrol_first(state, segment))) return false;
  state.segment = number;
  return true;
}

GEIGER_SLOW_PATH Decision decide(Bytes size) {
  if (size > kLargestSize) {
    tls.countdown += size;  // No allocator can serve it.
    return {};
  }
  const Readiness readiness = readiness_now(size);
  if (readiness == Readiness::kNotRecording) return pass_unseen(size);
  ThreadState* state = known_state();
  if (state == nullptr) {
    exchange_countdown(sleep_of(Phase::kOff));
    return {};
  }
  const PinnedSegment segment(*state);
  // What passed before a thread's first slow path in a recording is no part of it.
  const bool is_fresh = readiness == Readiness::kJustStarted ||
                        (sleeps() && state->generation != image.origin.generation);
  if (!enrol(*state, *segment)) return pass_without_record(*state, *segment, size);
  const Decision decision = decide_in(*state, *segment, size, is_fresh);
  take_marks(*segment);
  if (is_next_due(*segment)) [[unlikely]]
    go_on_in_next();
  return decision;
}

void follow_now() {
  if (!is_recording()) return;
  ThreadState* state = own_state();
  if (state == nullptr || state->generation != image.origin.generation) return;
  const PinnedSegment segment(*state);
  if (!enrol(*state, *segment) || !begin_settling(*state)) return;
  adopt_epoch(*state, *segment);
  arm(*state);
}

Bytes largest_interval_in_use() {
  const Segment& segment = current_segment();
  const std::uint32_t number = segment.number.load(std::memory_order_relaxed);
  Bytes largest = segment.epoch.interval.load(std::memory_order_relaxed);
  for (const ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (state->lifecycle.load(std::memory_order_acquire) != kLive) continue;
    const trace::Ref epoch = state->epoch.load(std::memory_order_relaxed);
    if (epoch != 0 && state->segment == number) {
      largest = std::max(largest, drawing_in(segment, epoch).interval);
    }
  }
  return largest;
}

void retract(const Decision& decision, Bytes size) {
  if (!decision.is_certain) return;
  decision.state->allocated.fetch_sub(size, std::memory_order_relaxed);
  if (!decision.is_counted) return;
  // Of a segment that has ended meanwhile the totals are as they are.
  if (decision.state->segment != decision.segment || !is_recording()) return;
  trace::ThreadRecord& totals = *decision.state->record;
  add(totals.bytes, -size);
  add(totals.certain_bytes, -size);
  add(totals.certain_count, -std::uint64_t{1});
}

GEIGER_SLOW_PATH void record(const Decision& decision, const Allocation& allocation,
                             const unwind::Registers& caller) {
  if (!decision.is_sample || decision.segment < image.segments.first_number || !is_recording())
    return;
  ThreadState& state = *decision.state;
  const PinnedSegment segment(state);
  const Nanoseconds begun = image.intervals.governor.is_on() ? base::monotonic_now() : 0;
  if (!state.has_name) record_name(*segment, state);
  const void* key = key_of(allocation.address, allocation.heap);
  image.live.table.prefetch(reinterpret_cast<std::uint64_t>(key));
  const trace::Ref stack = record_stack(*segment, state, caller);
  if (filter.maybe_holds(key)) close_unseen(*segment, state, key);
  const Seen seen{stack, base::monotonic_now()};
  write_and_track(*segment, decision, allocation, seen, key);
  if (image.intervals.governor.is_on()) regulate_interval(begun);
  serve_utilization(*segment);
  serve_residency(*segment);
}

std::uint64_t take(const void* address) { return take_live(address); }

void settle_taken(std::uint64_t taken, const unwind::Registers& caller) {
  if (taken == 0 || !is_recording()) return;
  ThreadState* state = known_state();
  if (state == nullptr) return;
  const PinnedSegment segment(*state);
  if (!is_of(*segment, taken) || !enrol(*state, *segment)) return;
  const bool is_wanted =
      image.settings.free_stacks || image.program.wants_free_stacks.load(std::memory_order_relaxed);
  const bool wants_stack = is_wanted && !image.settings.aggregates;
  const trace::Ref stack = wants_stack ? record_stack(*segment, *state, caller) : 0;
  record_free(*segment, state, taken, stack, 0);
}

void put_back(const void* address, std::uint64_t taken) {
  if (taken != 0) insert_live(address, taken);
}

GEIGER_SLOW_PATH void release(const void* address, const unwind::Registers& caller) {
  settle_taken(take(address), caller);
}

void begin_thread() {
  // glibc puts the thread's control block at the top of its stack, also of a stack
  // that the program supplied; everything in between is mapped.
  tls.stack_high = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
}

/// The last of a thread in the recording. False: it is in none.
static bool end_in_recording(ThreadState& state) {
  if (!is_recording() || state.generation != image.origin.generation) return false;
  const PinnedSegment segment(state);
  if (!enrol(state, *segment)) return false;
  if (state.has_name) record_name(*segment, state);
  settle_for_good(state);
  state.record->end.store(base::monotonic_now(), std::memory_order_relaxed);
  return true;
}

void end_thread() {
  ThreadState* state = own_state();
  if (state == nullptr || (!end_in_recording(*state) && !sleeps())) return;
  // Nobody may be asked whether the thread is gone before its state serves another: the
  // destructors that follow are left unseen instead.
  if (is_confined()) forget_state();
  retire_state(*state);
  // Exit may be reading our counter: it lies in memory that goes with the thread.
  while (state->reading.load(std::memory_order_seq_cst) != 0) {
  }
}

void detach() {
  if (is_recording()) {
    Segment& segment = current_segment();
    settle_others(segment, nullptr);
    settle_foreign(segment);
    take_marks(segment);
    segment.writer.finish(trace::State::kStopped, base::monotonic_now());
  }
  image.phase.store(Phase::kDetached, std::memory_order_release);
}

void set_allocator_path(const char* path) { allocator_path = path; }

}  // namespace geiger::capture
