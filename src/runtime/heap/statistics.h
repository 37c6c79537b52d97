// The allocator's own counts as text: of each block size how many blocks were ever handed out and
// how many are live, and what all mapped bytes are used for.
//
// Threads: any; exact if no other thread allocates meanwhile. Signals: not from handlers.
// Allocates: never.
#pragma once

namespace geiger::heap {

/// To stderr, a line for each block size and one for the census.
void write_statistics();

}  // namespace geiger::heap
