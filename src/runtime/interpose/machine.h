// What entry points and the slots of modules need to know of the processor. A folder for each.
//
//   for_jump()   a function that the last call of an entry point goes to, where the jump to it
//                needs no further move
//   kJumpSlot kGlobalData kAbsolute   relocations of slots that hold addresses of functions
#pragma once

#if defined(__x86_64__)
#include "runtime/interpose/x86_64/machine.h"
#elif defined(__aarch64__)
#include "runtime/interpose/aarch64/machine.h"
#else
#error "src/runtime/interpose has no folder for this processor"
#endif
