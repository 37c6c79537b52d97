// Asks the supervisor for what this process may not do itself (trace/broker.h).
//
// Threads / Signals / Fork: safe; waits for an answer for a second or two at most, and only once in
// vain. Allocates: never.
#pragma once

namespace geiger::capture {

/// Makes the trace of this name in the directory of the run. A descriptor, or -errno.
[[nodiscard]] long open_by_broker(const char* name);

/// Removes the trace of this name. False: it could not be.
bool remove_by_broker(const char* name);

}  // namespace geiger::capture
