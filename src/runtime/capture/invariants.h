// Walks over the runtime's tables that find what must not be, in builds with
// GEIGER_EXPENSIVE_ASSERTIONS; others have none of it.
//
//   live table    every entry is counted, reachable from its bucket, and its record in the trace
//                 is the sample of that address
//   filter        holds every live address; each slot of the front counts its live samples
//   stack table   every number is the reference of a whole stack record
//   trace         records fill it up to its tail, each committed, referring to earlier ones
//   arena         what it handed out is aligned, and ranges of the runtime do not overlap
//   counter       a thread's countdown is at most what it was armed with
//
// Threads: for processes with one thread that allocates; with more nothing is walked. Signals:
// nothing is walked inside a slow path that was interrupted. Allocates: never.
#pragma once

#include <cstdint>

namespace geiger::capture {

class PinnedSegment;

#if defined(GEIGER_EXPENSIVE_ASSERTIONS)
/// Slow paths between two walks: a test may set another number.
extern std::uint32_t walk_every;

/// Walks so far.
extern std::uint64_t walks;

/// The invariant that does not hold, null if all hold. Requires that no slow path is under way.
[[nodiscard]] const char* broken_invariant();

/// At the end of a slow path: walks now and then, and aborts with what does not hold.
void check_invariants(const PinnedSegment& segment);
#else
inline void check_invariants(const PinnedSegment&) {}
#endif

}  // namespace geiger::capture
