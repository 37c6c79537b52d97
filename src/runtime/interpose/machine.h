// The processor-specific parts of entry points and modules' slots. A folder for each processor.
//
//   for_jump()   the target of an entry point's tail call, where the jump needs no further move
//   kJumpSlot kGlobalData kAbsolute   relocations of slots that hold addresses of functions
#pragma once

#if defined(__x86_64__)
#include "runtime/interpose/x86_64/machine.h"
#elif defined(__aarch64__)
#include "runtime/interpose/aarch64/machine.h"
#else
#error "src/runtime/interpose has no folder for this processor"
#endif
