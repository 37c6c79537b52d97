// The interval in force, and who changes it: the control page, the program, and the governor, which
// meets the process's clock here.
#include <time.h>

#include <algorithm>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/drawn.h"

namespace geiger::capture {
namespace {

/// Of all threads. In a process that confined itself the call fails; then `now`, which is at least
/// as much for a single thread.
Nanoseconds processor_time(Nanoseconds now) {
  timespec used{};
  const long result =
      base::raw_syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, reinterpret_cast<long>(&used));
  if (base::is_error(result)) return now;
  return static_cast<Nanoseconds>(used.tv_sec) * 1'000'000'000 +
         static_cast<Nanoseconds>(used.tv_nsec);
}

/// Handles bursts between two checks of the supervisor that keeps the budget: after each step of
/// the trace's growth, the interval doubles. The next interval depends on the past only, so
/// estimates stay unbiased.
GEIGER_SLOW_PATH void double_interval(Segment& segment, std::uint64_t step) {
  std::uint64_t before = image.intervals.doubled_at.load(std::memory_order_relaxed);
  const std::uint64_t tail = segment.writer.tail();
  const std::uint64_t allowed =
      segment.writer.control()->doubles_at.load(std::memory_order_relaxed);
  if (tail < std::max(allowed, before + step)) return;
  if (!image.intervals.doubled_at.compare_exchange_strong(before, tail, std::memory_order_relaxed))
    return;
  const std::uint64_t interval = segment.epoch.interval.load(std::memory_order_relaxed);
  set_interval(std::min(interval * 2, kMostInterval));
}

}  // namespace

void follow_control(Segment& segment) {
  const std::uint64_t step =
      segment.writer.control()->doubling_step.load(std::memory_order_relaxed);
  if (step != 0) [[unlikely]]
    double_interval(segment, step);
  const std::uint64_t wanted =
      segment.writer.control()->requested_interval.load(std::memory_order_relaxed);
  std::uint64_t followed = image.intervals.followed.load(std::memory_order_relaxed);
  // Adopt a request only once: the program may have changed the interval since.
  if (wanted == followed || wanted == 0 || wanted > kMostInterval) return;
  if (image.intervals.followed.compare_exchange_strong(followed, wanted,
                                                       std::memory_order_relaxed)) {
    image.intervals.governor.stop();
    set_interval(wanted);
  }
}

bool set_interval(std::uint64_t interval) {
  if (interval == 0 || interval > kMostInterval || !is_recording()) return false;
  Segment& segment = current_segment();
  std::uint64_t current = segment.epoch.interval.load(std::memory_order_relaxed);
  if (interval == current) return true;
  // One thread writes the epoch; the others adopt it at their next slow path.
  const bool is_first =
      segment.epoch.interval.compare_exchange_strong(current, interval, std::memory_order_acq_rel);
  if (is_first && !write_epoch(segment, interval)) return false;
  if (is_first) pass_interval_on();
  return true;
}

void set_own_interval(std::uint64_t interval) {
  image.intervals.own.store(interval, std::memory_order_relaxed);
}

GEIGER_SLOW_PATH void regulate_interval(Nanoseconds begun) {
  const Nanoseconds now = base::monotonic_now();
  image.intervals.governor.spend_on_sample(now - begun);
  if (!image.intervals.governor.is_due(now, image.threads.load(std::memory_order_relaxed))) return;
  const std::uint64_t current = current_segment().epoch.interval.load(std::memory_order_relaxed);
  set_interval(image.intervals.governor.balance(current, processor_time(now)));
}

}  // namespace geiger::capture
