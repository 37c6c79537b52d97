#include "runtime/capture/capture.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/events.h"
#include "runtime/capture/image.h"
#include "runtime/capture/names.h"
#include "runtime/capture/record_stack.h"
#include "runtime/capture/thread_state.h"
#include "runtime/capture/utilization.h"
#include "sampling/prng.h"

namespace geiger::capture {
namespace {

using base::raw_syscall;
using sampling::Verdict;
using trace::RecordHeader;
using trace::RecordType;

/// The counter of a thread that is never to be asked again (2^63 bytes away).
constexpr std::uint64_t kNever = std::uint64_t{1} << 63;

/// The counter while decide() runs: room for what a signal handler allocates, and
/// few enough bytes that a thread which jumped out of decide() comes back soon.
constexpr std::uint64_t kGrace = kMiB;

/// No address space holds more (x86-64, aarch64).
constexpr Bytes kLargestSize = Bytes{1} << 47;

std::uint16_t current_cpu() {
  const int cpu = sched_getcpu();
  return cpu < 0 || cpu >= trace::kUnknownCpu ? trace::kUnknownCpu
                                              : static_cast<std::uint16_t>(cpu);
}

RecordHeader header_of(RecordType type, std::size_t bytes, std::uint32_t thread,
                       std::uint8_t flags = 0) {
  return {type, flags, static_cast<std::uint16_t>(bytes / 8), current_cpu(), thread};
}

/// Plain addition: only the owner writes these, others read them.
void add(std::atomic<std::uint64_t>& total, std::uint64_t value) {
  total.store(total.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

/// T and lambda of an epoch, from its record: of the image's own fields one may be newer
/// than another while the interval changes.
struct Drawing {
  std::uint64_t interval;
  double lambda;
};
Drawing drawing_in(trace::Ref epoch) {
  const auto& record = image.writer.at<trace::EpochRecord>(epoch);
  return {record.interval, __builtin_bit_cast(double, record.lambda_bits)};
}

/// Writes the thread's record into the current image and starts its sampler.
bool enrol(ThreadState& state) {
  const std::uint32_t index = image.threads.fetch_add(1, std::memory_order_relaxed) + 1;
  if (index > trace::kMaxThread) return false;
  const bool is_forked = state.image != 0;
  if (is_forked) state.tid = static_cast<std::uint64_t>(raw_syscall(SYS_gettid));
  const bool is_main = state.tid == image.writer.header()->pid;
  state.is_foreign = !is_main && tls.stack_high == 0;
  const RecordHeader header =
      header_of(RecordType::kThread, sizeof(trace::ThreadRecord), index,
                state.is_foreign ? trace::kFlagForeignThread : std::uint8_t{0});
  const trace::Slot slot = image.writer.reserve(header);
  if (!slot) return false;
  auto* record = reinterpret_cast<trace::ThreadRecord*>(slot.words);
  record->start = base::monotonic_now();
  record->tid = state.tid;
  trace::Writer::commit(slot, header);
  state.record = record;
  state.index = index;
  const trace::Ref epoch = image.epoch.ref.load(std::memory_order_acquire);
  state.epoch.store(epoch, std::memory_order_relaxed);
  const Drawing drawing = drawing_in(epoch);
  state.sampler.start(sampling::thread_seed(image.seed, index), drawing.interval, drawing.lambda,
                      image.settings.is_pure);
  state.image = image.number;
  return true;
}

/// Takes `bytes` that passed without trial (a handler allocated inside decide())
/// off the skip count. A sample among them cannot be recorded any more.
void settle_unseen(ThreadState& state, std::uint64_t bytes) {
  const Verdict verdict = state.sampler.trial(bytes);
  add(state.record->bytes, bytes);
  add(state.record->trials, bytes);
  if (verdict.kind == Verdict::Kind::kNotSampled) return;
  image.writer.count_drop(trace::DropCause::kReentered);
}

/// Settles the bytes since the counter was armed, given what it holds now.
void settle(ThreadState& state, std::uint64_t armed, std::uint64_t counter) {
  const std::uint64_t consumed = armed - counter;
  const std::uint64_t failed = std::min(consumed, std::min(armed, state.sampler.countdown()));
  state.sampler.settle(failed);
  if (!is_paused()) {
    add(state.record->bytes, failed);
    add(state.record->trials, failed);
  }
  // More than was armed: a handler allocated between the borrow and decide(). Out
  // of all proportion: a handler jumped out of decide() there, the rest is unknown.
  const std::uint64_t unseen = consumed - failed;
  if (unseen != 0 && unseen <= kGrace) settle_unseen(state, unseen);
}

/// Adds one decided allocation to the thread's totals.
void count(ThreadState& state, Bytes size, const Verdict& verdict) {
  trace::ThreadRecord& totals = *state.record;
  add(totals.bytes, size);
  add(totals.calls, 1);
  if (verdict.kind == Verdict::Kind::kCertain) {
    add(totals.certain_bytes, size);
    add(totals.certain_count, 1);
  } else if (verdict.kind == Verdict::Kind::kSampled) {
    add(totals.trials, verdict.offset + 1);
    add(totals.tail_bytes, size - verdict.offset - 1);
    add(totals.hits, 1);
  } else {
    add(totals.trials, size);
  }
}

/// Hands the counter back to the fast path. What handlers allocated since
/// decide() took it is put to trial first.
void arm(ThreadState& state) {
  for (;;) {
    const std::uint64_t next = state.is_ending ? 0 : state.sampler.countdown();
    const std::uint64_t grace_left = exchange_countdown(next);
    if (grace_left == kGrace) {
      state.record->pending.store(0, std::memory_order_relaxed);
      state.record->armed.store(next, std::memory_order_relaxed);
      state.armed.store(next, std::memory_order_relaxed);
      return;
    }
    const std::uint64_t since = next - exchange_countdown(kGrace);
    settle_unseen(state, kGrace - grace_left + since);
  }
}

/// A decide() of this thread has not finished. Was it left by a jump (siglongjmp
/// out of a handler), or does a handler allocate inside it? Inside, every further
/// frame is deeper, and a handler hardly allocates a grace of bytes many times.
bool was_abandoned(ThreadState& state, const void* frame) {
  constexpr std::uint32_t kTooMany = 16;
  if (frame >= state.deciding_frame || ++state.nested_decisions > kTooMany) return true;
  image.writer.count_drop(trace::DropCause::kReentered);
  return false;
}

void adopt_epoch(ThreadState& state) {
  follow_control();
  const trace::Ref epoch = image.epoch.ref.load(std::memory_order_acquire);
  if (state.epoch.load(std::memory_order_relaxed) == epoch) return;
  state.epoch.store(epoch, std::memory_order_relaxed);
  const Drawing drawing = drawing_in(epoch);
  state.sampler.change_interval(drawing.interval, drawing.lambda);
}

Decision decide_in(ThreadState& state, Bytes size, bool is_fresh) {
  const void* frame = __builtin_frame_address(0);
  // The borrow left the counter at (rest - size) mod 2^64, from where it would not
  // borrow again for ever: first of all it gets the grace.
  const std::uint64_t rest = exchange_countdown(kGrace) + size;
  const std::uint64_t armed = state.armed.exchange(kTaken, std::memory_order_relaxed);
  const bool restarts = armed == kTaken;
  if (restarts && !was_abandoned(state, frame)) {
    exchange_countdown(rest);
    return {};
  }
  state.deciding_frame = frame;
  state.nested_decisions = 0;
  if (!restarts && !is_fresh) settle(state, armed, rest);
  const Verdict verdict = state.sampler.trial(size);
  const bool counts = !is_paused();
  if (counts) count(state, size, verdict);
  const trace::Ref epoch = state.epoch.load(std::memory_order_relaxed);
  adopt_epoch(state);
  arm(state);
  return {.state = &state,
          .offset = verdict.offset,
          .epoch = epoch,
          .image = image.number,
          .is_sample = counts && verdict.kind != Verdict::Kind::kNotSampled,
          .is_certain = verdict.kind == Verdict::Kind::kCertain,
          .is_counted = counts};
}

/// Puts an allocated address among the live samples. False: out of memory.
bool insert_live(const void* address, std::uint64_t value) {
  if (!image.live.insert(reinterpret_cast<std::uint64_t>(address), value)) return false;
  filter.add(address);
  if (filter.is_too_small(image.live.size())) {
    filter.grow([](const auto& visit) { image.live.for_each(visit); });
  }
  return true;
}

/// Live entries: image number and sample, never 0 as images start at 1.
std::uint64_t live_value(trace::Ref sample) { return std::uint64_t{image.number} << 32 | sample; }

void record_free(std::uint64_t taken, trace::Ref stack, std::uint8_t flags) {
  const auto sample = static_cast<trace::Ref>(taken);
  if (taken >> 32 != image.number) return;  // The parent's sample.
  ThreadState* state = enrolled_state();
  const RecordHeader header = header_of(RecordType::kFree, sizeof(trace::FreeRecord),
                                        state == nullptr ? 0 : state->index, flags);
  const trace::Slot slot = image.writer.reserve(header);
  if (!slot) {
    image.writer.count_drop(trace::DropCause::kTraceFull);
    return;
  }
  auto* record = reinterpret_cast<trace::FreeRecord*>(slot.words);
  record->time = base::monotonic_now();
  record->sample = sample;
  record->stack = stack;
  trace::Writer::commit(slot, header);
  tell_freed(state, sample, *record);
}

/// The allocator handed out an address whose sample we believe alive: its free
/// went past us (RTLD_DEEPBIND, static code, private APIs of the allocator).
void close_unseen(const void* address) {
  const std::uint64_t taken = take(address);
  if (taken == 0) return;
  image.writer.count_drop(trace::DropCause::kUnseenFree);
  record_free(taken, 0, trace::kFlagUnseen);
}

void record_name(ThreadState& state) {
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  if (state.has_name && memcmp(name, state.name, sizeof name) == 0) return;
  const RecordHeader header =
      header_of(RecordType::kThreadName, sizeof(trace::ThreadNameRecord), state.index);
  const trace::Slot slot = image.writer.reserve(header);
  if (!slot) return;
  auto* record = reinterpret_cast<trace::ThreadNameRecord*>(slot.words);
  record->time = base::monotonic_now();
  memcpy(record->name, name, sizeof name);
  trace::Writer::commit(slot, header);
  memcpy(state.name, name, sizeof name);
  state.has_name = true;
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
NameRefs names_in_force() { return {ref_of_name(tls.naming.label), ref_of_name(tls.naming.type)}; }

trace::Slot write_sample(const Decision& decision, const Allocation& allocation, trace::Ref stack) {
  const NameRefs names = names_in_force();
  const RecordHeader header =
      header_of(RecordType::kSample, sizeof(trace::SampleRecord), decision.state->index,
                decision.is_certain ? trace::kFlagCertain : std::uint8_t{0});
  const trace::Slot slot = image.writer.reserve(header);
  if (!slot) return slot;
  auto* record = reinterpret_cast<trace::SampleRecord*>(slot.words);
  record->time = base::monotonic_now();
  record->stack = stack;
  record->epoch = decision.epoch;
  record->address = reinterpret_cast<std::uint64_t>(allocation.address);
  record->requested_kind = clamped(allocation.requested) |
                           std::uint64_t{static_cast<std::uint8_t>(allocation.entry_point)} << 48 |
                           std::uint64_t{log2_of(allocation.alignment)} << 56;
  record->usable_heap = clamped(allocation.usable) | std::uint64_t{allocation.heap} << 48;
  record->offset = decision.offset;
  record->label = names.label;
  record->type = names.type;
  trace::Writer::commit(slot, header);
  return slot;
}

/// Reads the counters of threads that are still alive, as the program exits.
/// They go on, so what they allocate from here stays bounded by `armed` alone.
void settle_others(const ThreadState* self) {
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (state == self || state->is_foreign || state->image != image.number) continue;
    state->reading.store(1, std::memory_order_seq_cst);
    const std::uint64_t armed = state->armed.load(std::memory_order_seq_cst);
    if (state->lifecycle.load(std::memory_order_seq_cst) == kLive && armed != kTaken) {
      const std::uint64_t rest = std::atomic_ref(*state->countdown).load(std::memory_order_relaxed);
      if (rest <= armed) {
        state->record->pending.store(armed - rest, std::memory_order_relaxed);
        state->record->armed.store(0, std::memory_order_relaxed);
      }
    }
    state->reading.store(0, std::memory_order_release);
  }
}

/// Takes the counter out of use for as long as its thread settles it. False: it is
/// deciding already, further up its stack.
bool begin_settling(ThreadState& state) {
  const std::uint64_t armed = state.armed.exchange(kTaken, std::memory_order_relaxed);
  if (armed == kTaken) return false;
  state.deciding_frame = __builtin_frame_address(0);
  settle(state, armed, exchange_countdown(kGrace));
  return true;
}

/// Settles what the calling thread has allocated; from here every allocation of
/// it does so itself.
void settle_for_good(ThreadState& state) {
  if (!begin_settling(state)) return;
  state.is_ending = true;
  arm(state);
}

/// exit(), after the program's own destructors that run before ours.
[[gnu::destructor]] void finish() {
  if (!is_recording()) return;
  ThreadState* self = own_state();
  if (self != nullptr && self->image == image.number) {
    record_name(*self);
    settle_for_good(*self);
  }
  settle_others(self);
  trace::FileHeader* header = image.writer.header();
  header->stop_monotonic = base::monotonic_now();
  header->state.store(trace::State::kExited, std::memory_order_release);
}

}  // namespace

ThreadState* enrolled_state() {
  ThreadState* state = own_state();
  if (state == nullptr) state = adopt_state(image.writer.header()->pid);
  if (state == nullptr) return nullptr;
  if (state->image != image.number && !enrol(*state)) return nullptr;
  return state;
}

GEIGER_SLOW_PATH Decision decide(Bytes size) {
  if (size > kLargestSize) {
    tls.countdown += size;  // No allocator can serve it.
    return {};
  }
  bool is_fresh = false;
  if (!ready(is_fresh)) {
    const Phase phase = image.phase.load(std::memory_order_relaxed);
    exchange_countdown(phase == Phase::kStarting ? 0 : kNever);
    return {};
  }
  ThreadState* state = enrolled_state();
  if (state == nullptr) {
    exchange_countdown(kNever);
    return {};
  }
  return decide_in(*state, size, is_fresh);
}

void follow_now() {
  if (!is_recording()) return;
  ThreadState* state = own_state();
  if (state == nullptr || state->image != image.number || !begin_settling(*state)) return;
  adopt_epoch(*state);
  arm(*state);
}

Bytes largest_interval_in_use() {
  Bytes largest = image.epoch.interval.load(std::memory_order_relaxed);
  for (const ThreadState* state = first_state(); state != nullptr; state = state->next) {
    if (state->lifecycle.load(std::memory_order_acquire) != kLive) continue;
    const trace::Ref epoch = state->epoch.load(std::memory_order_relaxed);
    if (epoch != 0 && state->image == image.number) {
      largest = std::max(largest, drawing_in(epoch).interval);
    }
  }
  return largest;
}

void retract(const Decision& decision, Bytes size) {
  if (!decision.is_counted || !decision.is_certain) return;
  trace::ThreadRecord& totals = *decision.state->record;
  add(totals.bytes, -size);
  add(totals.certain_bytes, -size);
  add(totals.certain_count, -std::uint64_t{1});
}

GEIGER_SLOW_PATH void record(const Decision& decision, const Allocation& allocation,
                             const unwind::Registers& caller) {
  if (!decision.is_sample || decision.image != image.number) return;
  ThreadState& state = *decision.state;
  if (!state.has_name) record_name(state);
  const void* key = key_of(allocation.address, allocation.heap);
  image.live.prefetch(reinterpret_cast<std::uint64_t>(key));
  const trace::Ref stack = record_stack(state, caller);
  if (filter.maybe_holds(key)) close_unseen(key);
  const trace::Slot slot = write_sample(decision, allocation, stack);
  if (!slot) {
    image.writer.count_drop(trace::DropCause::kTraceFull);
    return;
  }
  if (!insert_live(key, live_value(slot.ref))) {
    image.writer.count_drop(trace::DropCause::kLiveTableFull);
  }
  tell_sampled(state, slot.ref, *reinterpret_cast<const trace::SampleRecord*>(slot.words));
  serve_utilization();
}

std::uint64_t take(const void* address) {
  const std::size_t mask = filter.mask();
  const std::uint64_t taken = image.live.take(reinterpret_cast<std::uint64_t>(address));
  if (taken != 0) filter.remove(address, mask);
  return taken;
}

void settle_taken(std::uint64_t taken, const unwind::Registers& caller) {
  if (taken == 0 || !is_recording()) return;
  ThreadState* state = image.settings.free_stacks ? enrolled_state() : nullptr;
  record_free(taken, state == nullptr ? 0 : record_stack(*state, caller), 0);
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

void end_thread() {
  ThreadState* state = own_state();
  if (state == nullptr || !is_recording() || state->image != image.number) return;
  if (state->has_name) record_name(*state);
  settle_for_good(*state);
  state->record->end.store(base::monotonic_now(), std::memory_order_relaxed);
  retire_state(*state);
  // Exit may be reading our counter: it lies in memory that goes with the thread.
  while (state->reading.load(std::memory_order_seq_cst) != 0) {
  }
}

void set_allocator_path(const char* path) { allocator_path = path; }

}  // namespace geiger::capture
