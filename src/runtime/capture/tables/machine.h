// The two operations of the fast paths for which compilers generate more instructions than the
// processor needs. A folder for each processor.
//
//   exhausts()      subtracts a size from a counter; true if the counter is smaller, or the size 0
//   is_slot_used()  whether the byte of a table that an address falls on is not 0: bits
//                   kLog2BlockBytes and up of the address number the bytes, 2^kLog2Slots of them,
//                   which begin on a page
#pragma once

#if defined(__x86_64__)
#include "runtime/capture/tables/x86_64/machine.h"
#elif defined(__aarch64__)
#include "runtime/capture/tables/aarch64/machine.h"
#else
#error "src/runtime/capture/tables has no folder for this processor"
#endif
