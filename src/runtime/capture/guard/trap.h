// The SIGSEGV handler of guard mode: geiger's only signal handler in a program, installed with the
// first guarded object.
//
// The program does not see it: sigaction and signal answer for SIGSEGV as if the program's own
// action were in force. Our action has the flags and the mask of the program's, so that both
// handlers run under the same conditions.
//
//   a guarded address   report it, put the program's action in force for good, and return: the
//                       instruction traps again, and the kernel does what it would have done
//   any other signal    the program's handler is called; its default action is put in force, and
//                       comes when the instruction traps again or the signal is sent again
//
// A program that ignores SIGSEGV continues to ignore it, and nothing is guarded. Actions that it
// sets with direct system calls replace ours; then the program handles the traps, and nothing is
// reported.
//
// Threads / Signals: lock-free. Fork: inherited. Allocates: never.
#pragma once

#include <signal.h>

namespace geiger::capture {

/// The original sigaction().
using SetAction = int (*)(int signal, const struct sigaction* wanted, struct sigaction* before);
void set_signal_function(SetAction function);

/// The allocator's functions that read the block they are given. A trap in one of them is not the
/// program's fault: the call bypassed the runtime.
void set_freeing_functions(const void* free, const void* realloc);

/// Installs the handler. True: it is in force.
[[nodiscard]] bool set_trap();

/// Restores the program's own action permanently; later faults are not reported.
void give_up_trap();

[[nodiscard]] bool is_trap_given_up();

/// Whether calls that set SIGSEGV's action must go to act_for_program().
[[nodiscard]] bool is_trap_set();

/// The program's sigaction(SIGSEGV, ...). Always succeeds.
void act_for_program(const struct sigaction* wanted, struct sigaction* before);

}  // namespace geiger::capture
