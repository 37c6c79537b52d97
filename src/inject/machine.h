// What of a stopped thread's registers injecting needs. A folder for each processor; nothing else
// in this room depends on it.
//
//   get() set()            all general registers; false: the thread is gone
//   kExtended              sets of registers that hold the rest, by their note types: the first
//                          that the kernel has is saved and put back
//   pc() sp() result()
//   is_64_bit()            whether the thread runs 64-bit code
//   interrupted_call() first_argument()   of the system call that the thread is in
//   prepare_system_call()  to be made by the instruction at `at`
//   prepare_call()         of a function, that returns to nowhere; `top` is a multiple of 16, and
//                          the word before it is 0
//   return_nowhere()       so that what is jumped to returns to nowhere, by a 0 before `top`
//   has_ended_wait() repeat_wait()   an epoll_wait() without a timeout that the stop has ended;
//                          `before` is the call that the thread was in before the stop
//   has_rest() wait_for_rest()   a call with a relative timeout, of which the kernel keeps what is
//                          left, and that would begin anew
//   notices_stops()        calls that exist here only, and that any stop ends by EINTR
//   kInstructionBytes      instructions lie at multiples of it
//   kSystemCall kSystemCallAndReturn   their bytes
//   for_unwinder()         the registers by DWARF's numbers
#pragma once

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <array>
#include <cstdint>

namespace geiger::inject {

/// A system call that a thread waits in, as /proc shows it.
struct WaitingCall {
  long number = -1;  ///< None.
  std::array<std::uint64_t, 6> arguments{};
  std::uint64_t sp = 0, pc = 0;
};

}  // namespace geiger::inject

#if defined(__x86_64__)
#include "inject/x86_64/machine.h"
#elif defined(__aarch64__)
#include "inject/aarch64/machine.h"
#else
#error "src/inject has no folder for this processor"
#endif
