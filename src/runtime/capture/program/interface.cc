#include "runtime/capture/program/interface.h"

#include "runtime/capture/tables/arena.h"
#include "runtime/capture/thread/enrolment.h"
#include "runtime/capture/thread/settling.h"
#include "runtime/capture/thread/thread_state.h"

namespace geiger::capture {
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
