// The clocks of a trace. Both go through the vDSO: no system call, no lock.
#pragma once

#include <time.h>

#include "base/units.h"

namespace geiger::base {

using ClockFunction = int(clockid_t, timespec*);

/// The clock function to call. The runtime sets it to the C library's own: one that a program
/// preloads to shift its time (faketime) would make durations wrong, and might allocate or lock
/// inside an allocation.
inline constinit ClockFunction* clock_function = clock_gettime;

inline Nanoseconds clock_now(clockid_t clock) {
  timespec now{};
  clock_function(clock, &now);
  return static_cast<Nanoseconds>(now.tv_sec) * 1'000'000'000 +
         static_cast<Nanoseconds>(now.tv_nsec);
}

inline Nanoseconds monotonic_now() { return clock_now(CLOCK_MONOTONIC); }
inline Nanoseconds realtime_now() { return clock_now(CLOCK_REALTIME); }

}  // namespace geiger::base
