// The allocator's own counts as text: for each block size the number of blocks handed out so far
// and live, and the use of all mapped bytes.
//
// Threads: any; exact if no other thread allocates meanwhile. Signals: not from handlers.
// Allocates: never.
#pragma once

namespace geiger::heap {

/// Writes to stderr: a line for each block size and one for the census.
void write_statistics();

}  // namespace geiger::heap
