// The handler of SIGSEGV that guard mode needs: the only handler of geiger's in a program, there
// from the first guarded object on.
//
// The program does not see it: what it asks about SIGSEGV through sigaction and signal is answered
// as if its own action were in force. The action in force has the flags and the mask of the
// program's, so that either runs in the same surroundings.
//
//   a guarded address   report it, put the program's action in force for good, and return: the
//                       instruction traps again, and the kernel does what it would have done
//   any other signal    the program's handler is called; its default action is put in force, and
//                       comes when the instruction traps again or the signal is sent again
//
// A program that ignores SIGSEGV goes on to do so, and nothing is guarded. Actions that it sets by
// system calls of its own replace ours; then traps are its own, and nothing is reported.
//
// Threads / Signals: lock-free. Fork: inherited. Allocates: never.
#pragma once

#include <signal.h>

namespace geiger::capture {

/// sigaction() as the program would call it without us.
using SetAction = int (*)(int signal, const struct sigaction* wanted, struct sigaction* before);
void set_signal_function(SetAction function);

/// The allocator's functions that look at the block they are given. A trap in one of them is no
/// fault of the program's: it was called past the runtime.
void set_freeing_functions(const void* free, const void* realloc);

/// Whether traps are ours, or are from now on.
[[nodiscard]] bool set_trap();

/// Puts the program's own action in force, for good: what is guarded from now on would not be
/// reported.
void give_up_trap();

[[nodiscard]] bool is_trap_given_up();

/// Whether actions of SIGSEGV are to be given to act_for_program().
[[nodiscard]] bool is_trap_set();

/// sigaction(SIGSEGV, ...) of the program. Always succeeds.
void act_for_program(const struct sigaction* wanted, struct sigaction* before);

}  // namespace geiger::capture
