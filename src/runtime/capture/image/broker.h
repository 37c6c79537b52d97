// Asks the supervisor to do what this process lacks permission for (trace/broker.h).
//
// Threads / Signals / Fork: safe; waits at most a second or two for an answer, and never again
// after a timeout. Allocates: never.
#pragma once

namespace geiger::capture {

/// Creates the trace of this name in the run's directory. Returns a descriptor or -errno.
[[nodiscard]] long open_by_broker(const char* name);

/// Removes the trace of this name. False: failed.
bool remove_by_broker(const char* name);

}  // namespace geiger::capture
