// The end of a recording: at exit, on request of a controller, or by detaching (attach.h).
//
// Threads: one ends it; others may be inside slow paths, and what they allocate from here stays
// bounded by what they were armed with. Fork: as capture.h. Allocates: never.
#pragma once

#include "trace/format.h"

namespace geiger::capture {

/// Settles all threads, totals as final as they can be while others go on, and ends the trace.
/// Requires that the image has started.
void end_recording(trace::State end);

}  // namespace geiger::capture
