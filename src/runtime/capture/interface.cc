#include "runtime/capture/interface.h"

#include <time.h>

#include "base/check.h"
#include "base/raw_syscall.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/image/checkpoint.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {

namespace {

constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 48;

/// The number of a heap from 1 up, 0 if the name is not a heap's.
std::uint16_t number_of(NameId heap) {
  const NamedThing thing = name_at(heap);
  return thing.kind == trace::NameKind::kHeap ? static_cast<std::uint16_t>(thing.owner) : 0;
}

/// Sets the type in force for its own lifetime.
class TypeInForce {
 public:
  explicit TypeInForce(NameId type) : before_(tls.naming.type) {
    if (type != 0) tls.naming.type = type;
  }
  TypeInForce(const TypeInForce&) = delete;
  TypeInForce& operator=(const TypeInForce&) = delete;
  ~TypeInForce() { tls.naming.type = before_; }

 private:
  NameId before_;
};

Rate rate_in(const Segment& segment, trace::Ref epoch) {
  const auto& record = segment.writer.at<trace::EpochRecord>(epoch);
  return {.interval = record.interval,
          .lambda = __builtin_bit_cast(double, record.lambda_bits),
          .epoch = epoch,
          .image = segment.number.load(std::memory_order_relaxed),
          .process = image.segments.first_number,
          .is_pure = image.settings.is_pure};
}

}  // namespace

Rate current_rate() {
  if (start_if_due() == Readiness::kNotRecording) return {};
  Segment& segment = current_segment();
  return rate_in(segment, segment.epoch.ref.load(std::memory_order_acquire));
}

Rate rate_of_interval(std::uint64_t interval) {
  const Rate current = current_rate();
  if (current.image == 0 || current.interval == interval) return current;
  Segment& segment = current_segment();
  const trace::Ref epoch = epoch_of_interval(segment, interval);
  return epoch == 0 ? Rate{} : rate_in(segment, epoch);
}

GEIGER_SLOW_PATH Reported report_sample(const Report& report) {
  if (!is_recording()) return Reported::kNotRecording;
  const std::uint16_t heap = number_of(report.heap);
  if (heap == 0) return Reported::kWrongHeap;
  if (report.address >= kAddressEnd || report.address == 0) return Reported::kWrongAddress;
  Segment& segment = current_segment();
  const bool is_of_process = report.rate.image >= image.segments.first_number &&
                             report.rate.image <= segment.number.load(std::memory_order_relaxed);
  if (!is_of_process) return Reported::kOtherImage;
  if (is_paused()) return Reported::kYes;
  ThreadState* state = known_state();
  if (state == nullptr || !enrol(*state, segment) || ref_of_name(segment, report.heap) == 0)
    return Reported::kNotRecording;
  const TypeInForce type(report.type);
  const Decision decision{.state = state,
                          .offset = report.offset,
                          .epoch = report.rate.epoch,
                          .interval = report.rate.interval,
                          .segment = report.rate.image,
                          .is_sample = true,
                          .is_certain = report.is_certain,
                          .is_counted = false};
  record(decision,
         {reinterpret_cast<const void*>(report.address), report.requested, report.usable,
          trace::EntryPoint::kReported, report.alignment, heap},
         report.caller);
  if (is_next_due(segment)) [[unlikely]]
    go_on_in_next();
  return Reported::kYes;
}

Reported report_free(NameId heap, std::uint64_t address, const unwind::Registers& caller) {
  const std::uint16_t number = number_of(heap);
  if (number == 0) return Reported::kWrongHeap;
  if (address >= kAddressEnd) return Reported::kWrongAddress;
  const void* key = key_of(reinterpret_cast<const void*>(address), number);
  if (filter.maybe_holds(key)) release(key, caller);
  return Reported::kYes;
}

namespace {

/// Most attempts to read a thread that is inside a slow path, .1 ms apart.
constexpr int kMostTries = 100;

/// The fields of a thread's state at one instant.
struct Reading {
  std::uint64_t bytes;  ///< Of all owners of the state.
  std::uint64_t missing;
};

enum class Read : std::uint8_t {
  kDone,
  kChanging,  ///< Changed while it was read.
  kInside,    ///< Its thread is inside a slow path.
};

/// `rest()` reads the counter; kTaken if it is gone.
template <typename Rest>
Read read_state(const ThreadState& state, const Rest& rest, Reading& found) {
  if (state.generation != image.origin.generation) {  // Not counting in this recording.
    found = {state.allocated.load(std::memory_order_relaxed), 0};
    return Read::kDone;
  }
  const std::uint32_t before = state.settling.load(std::memory_order_acquire);
  const std::uint64_t settled = state.allocated.load(std::memory_order_relaxed);
  const std::uint64_t armed = state.armed.load(std::memory_order_relaxed);
  const std::uint64_t left = rest();
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool has_changed = state.settling.load(std::memory_order_relaxed) != before;
  if (has_changed) return Read::kChanging;
  if (before % 2 != 0 || armed == kTaken) return Read::kInside;
  if (left == kTaken) {
    found = {settled, armed};
    return Read::kDone;
  }
  if (left > armed) return Read::kInside;  // Below 0: it decides next.
  found = {settled + (armed - left), 0};
  return Read::kDone;
}

/// If we see a thread's end, its counter stays valid while the thread is kLive, and `reading` keeps
/// it valid.
Read read_known(ThreadState& state, Reading& found) {
  state.reading.fetch_add(1, std::memory_order_seq_cst);
  Read read = Read::kDone;
  if (state.lifecycle.load(std::memory_order_seq_cst) == kLive) {
    read = read_state(
        state, [&] { return std::atomic_ref(*state.countdown).load(std::memory_order_relaxed); },
        found);
  } else {
    // Allocations in its last destructors settle at once.
    found = {state.allocated.load(std::memory_order_relaxed), 0};
  }
  state.reading.fetch_sub(1, std::memory_order_release);
  return read;
}

Read read_any(ThreadState& state, std::uint32_t pid, Reading& found) {
  const bool is_live = state.lifecycle.load(std::memory_order_acquire) == kLive;
  if (!is_live || !state.is_foreign) return read_known(state, found);
  return read_state(
      state, [&] { return counter_of_foreign(state, pid); }, found);
}

void wait_a_moment() {
  const timespec moment{0, 100'000};
  base::raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&moment), 0);
}

Reading read_patiently(ThreadState& state, std::uint32_t pid) {
  Reading found{};
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (read_any(state, pid, found) == Read::kDone) return found;
    // This handler interrupted its own thread's slow path, which cannot continue meanwhile.
    if (&state == own_state()) break;
    wait_a_moment();
  }
  return {state.allocated.load(std::memory_order_relaxed),
          state.last_armed.load(std::memory_order_relaxed)};
}

/// Starts the image if no allocation has started it yet.
bool begin_counting() { return start_if_due() != Readiness::kNotRecording && is_recording(); }

}  // namespace

Counted bytes_of_thread(std::uint64_t& bytes) {
  bytes = 0;
  if (!begin_counting()) return Counted::kNotRecording;
  const ThreadState* state = own_state();
  if (state == nullptr) return Counted::kYes;
  Reading found{};
  const auto rest = [] { return std::atomic_ref(tls.countdown).load(std::memory_order_relaxed); };
  Read read = Read::kChanging;  // By a handler of this thread.
  while (read == Read::kChanging) read = read_state(*state, rest, found);
  if (read == Read::kInside) return Counted::kInterrupted;
  bytes = found.bytes - state->allocated_before;
  return Counted::kYes;
}

Counted bytes_of_process(ProcessBytes& found) {
  found = {};
  if (!begin_counting()) return Counted::kNotRecording;
  const std::uint32_t pid = current_segment().writer.header()->pid;
  for (ThreadState* state = first_state(); state != nullptr; state = state->next) {
    const Reading read = read_patiently(*state, pid);
    found.bytes += read.bytes;
    found.missing += read.missing;
  }
  return Counted::kYes;
}

namespace {

Status status() {
  start_if_due();
  const Segment* segment = image.segments.current.load(std::memory_order_acquire);
  const trace::FileHeader* header = segment == nullptr ? nullptr : segment->writer.header();
  Status status{};
  status.phase = image.phase.load(std::memory_order_acquire);
  // The program does not control a recording for tools.
  status.is_in_memory =
      image.settings.in_memory && !image.sleeper.is_for_tools.load(std::memory_order_relaxed);
  status.header = header;
  if (header == nullptr) return status;
  status.image = segment->number.load(std::memory_order_relaxed);
  status.first_image = image.segments.first_number;
  status.stop_reason = header->stop_reason.load(std::memory_order_relaxed);
  status.stop_errno = header->stop_errno;
  status.is_recording = is_recording();
  status.is_paused = is_paused();
  status.interval = segment->epoch.interval.load(std::memory_order_relaxed);
  status.largest_interval = image.intervals.largest.load(std::memory_order_relaxed);
  status.live_samples = image.live.table.size();
  return status;
}

Naming* naming() { return &tls.naming; }

bool set_interval_here(std::uint64_t interval) {
  image.intervals.governor.stop();
  if (!set_interval(interval)) return false;
  follow_now();
  return true;
}

void forget_intervals() {
  image.intervals.largest.store(current_segment().epoch.interval.load(std::memory_order_relaxed),
                                std::memory_order_relaxed);
}

void hold(bool is_held) { image.program.is_held.store(is_held, std::memory_order_relaxed); }

void record_free_stacks(bool is_wanted) {
  image.program.wants_free_stacks.store(is_wanted, std::memory_order_relaxed);
}

ThreadLocal* thread() { return &tls; }

void for_each_live(LiveVisitor visit, void* context) {
  image.live.table.for_each([&](std::uint64_t key, std::uint64_t value) {
    const auto number = static_cast<std::uint32_t>(value >> 32);
    // Lower numbers were inherited from the parent; higher ones may appear meanwhile.
    if (number >= image.segments.first_number)
      visit(context, key, number, static_cast<trace::Ref>(value));
  });
}

}  // namespace

}  // namespace geiger::capture

namespace capture = geiger::capture;

extern "C" constinit const capture::Interface geiger_capture_v1{
    .version = GEIGER_VERSION,
    .status = capture::status,
    .naming = capture::naming,
    .define_name = capture::define_name,
    .name_at = capture::name_at,
    .write_mark = capture::write_mark,
    .set_interval = capture::set_interval_here,
    .set_own_interval = capture::set_own_interval,
    .largest_interval_in_use = capture::largest_interval_in_use,
    .forget_intervals = capture::forget_intervals,
    .hold = capture::hold,
    .record_free_stacks = capture::record_free_stacks,
    .current_rate = capture::current_rate,
    .rate_of_interval = capture::rate_of_interval,
    .report_sample = capture::report_sample,
    .report_free = capture::report_free,
    .hold_trace = capture::hold_trace,
    .release_trace = capture::release_trace,
    .for_each_live = capture::for_each_live,
    .listener = &capture::listener,
    .thread = capture::thread,
    .bytes_of_thread = capture::bytes_of_thread,
    .bytes_of_process = capture::bytes_of_process,
    .allocate = capture::arena_allocate,
};
