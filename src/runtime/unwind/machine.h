// The processor-specific parts of walks: registers, calls and signal frames. A folder for each
// processor; nothing else in this room depends on it.
//
//   dwarf::k...            DWARF's numbers of registers
//   Slot, slot_of()        the registers that survive calls, and the return address
//   kPushesReturnAddress   a call stores it, and the caller's stack pointer is just above; else the
//                          callee saves it as it likes, most often beside the frame pointer, or
//                          keeps it in a register (Slot::kLink)
//   stripped()             a return address without the bits of pointer authentication
//   is_no_operation()      call frame instructions of this processor that change no row
//   find_signal_return()   the row of the kernel's return from signals, where it has no table
//   kFollowsCode           code.h understands this processor's instructions
//   link_of(), forget_link()  a return address in a register
//   store_registers()      those of the function that it is inlined into
//   stack_pointer_after()  where the function that it is inlined into leaves the stack pointer
#pragma once

#if defined(__x86_64__)
#include "runtime/unwind/x86_64/machine.h"
#elif defined(__aarch64__)
#include "runtime/unwind/aarch64/machine.h"
#else
#error "src/runtime/unwind has no folder for this processor"
#endif
