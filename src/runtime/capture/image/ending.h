// The end of a recording: at exit, on request of a controller, or by detaching (attach.h).
//
// Threads: one ends it; others may be inside slow paths, and their later allocations are bounded by
// what they were armed with. Fork: as capture.h. Allocates: never.
#pragma once

#include "trace/format.h"

namespace geiger::capture {

/// Settles all threads, as exactly as possible while others run, and ends the trace.
/// Requires that the image has started.
void end_recording(trace::State end);

}  // namespace geiger::capture
