// Checks the invariants of the runtime's tables, only in builds with GEIGER_EXPENSIVE_ASSERTIONS.
//
//   live table    every entry is counted, reachable from its bucket, and its record in the trace
//                 is the sample of that address
//   filter        holds every live address; each slot of the front counts its live samples
//   stack table   every number is the reference of a whole stack record
//   trace         records fill it up to its tail, each committed, referring to earlier ones
//   arena         its memory is aligned, and ranges of the runtime do not overlap
//   counter       a thread's countdown is at most what it was armed with
//
// Threads: walks only in processes with a single allocating thread. Signals: does not walk inside
// an interrupted slow path. Allocates: never.
#pragma once

#include <cstdint>

namespace geiger::capture {

class PinnedSegment;

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
/// Slow paths between two walks; tests may change it.
extern std::uint32_t walk_every;

/// Walks so far.
extern std::uint64_t walks;

/// The invariant that does not hold, null if all hold. For when no slow path is under way.
[[nodiscard]] const char* broken_invariant();

/// At the end of a slow path: every walk_every times walks, and aborts if an invariant is broken.
void check_invariants(const PinnedSegment& segment);
#else
inline void check_invariants(const PinnedSegment&) {}
#endif

}  // namespace geiger::capture
