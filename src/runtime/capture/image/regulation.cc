// Connects the governor to the process: its clock, and the interval in force.
#include <time.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/image/image.h"

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

}  // namespace

GEIGER_SLOW_PATH void regulate_interval(Nanoseconds begun) {
  const Nanoseconds now = base::monotonic_now();
  image.intervals.governor.spend_on_sample(now - begun);
  if (!image.intervals.governor.is_due(now, image.threads.load(std::memory_order_relaxed))) return;
  const std::uint64_t current = current_segment().epoch.interval.load(std::memory_order_relaxed);
  set_interval(image.intervals.governor.balance(current, processor_time(now)));
}

}  // namespace geiger::capture
