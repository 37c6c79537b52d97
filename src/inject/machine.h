// The access to a stopped thread's registers that injection needs, in a folder for each processor.
// Nothing else in this room depends on the processor.
//
//   get() set()            all general registers; false: the thread has ended
//   kExtended              register sets with the rest, by their note types: the first that the
//                          kernel has is saved and restored
//   pc() sp() result() set_result()
//   is_64_bit()            whether the thread runs 64-bit code
//   interrupted_call() first_argument()   of the system call that the thread is in
//   opened_path()          of the open() that the thread is in or has just ended; 0: another call
//   prepare_system_call()  by the instruction at `at`
//   prepare_call()         of a function, that returns to address 0; `top` is a multiple of 16, and
//                          the word before it is 0
//   return_to_zero()       the code jumped to returns to address 0 (the word before `top`)
//   set_link()             where code jumped to returns, where that is a register
//   has_ended_wait() repeat_wait()   an epoll_wait() without a timeout that the stop has ended;
//                          `before` is the call that the thread was in before the stop
//   has_rest() wait_for_rest()   a call with a relative timeout that would start over, though the
//                          kernel keeps the time left
//   notices_stops()        calls of this processor only that any stop ends by EINTR
//   kInstructionBytes      instructions are at multiples of it
//   kSystemCall kSystemCallAndReturn   their bytes
//   for_unwinder()         passes the registers by their DWARF numbers
#pragma once

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <array>
#include <cstdint>

namespace geiger::inject {

/// A system call in which a thread waits, from /proc.
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
