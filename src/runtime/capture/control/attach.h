// Recording that begins and ends by order from outside, in a process that was not started
// with the runtime, or sleeps and cannot be called. What lived before is not known; threads are met
// at their first slow path, as ever.
//
// Threads: one caller at a time, see interpose/attach.cc. Allocates: never.
#pragma once

namespace geiger::capture {

/// False: an image is recording, or none may: GEIGER_MODE says so, or its trace could not be made.
[[nodiscard]] bool may_attach();

/// Whether this process sleeps: then its calls have led to us from the start.
[[nodiscard]] bool was_prepared();

/// Starts an image with settings as lines NAME=VALUE. 0, an errno of the trace, or a
/// base::AttachError.
int attach(const char* lines);

/// Settles all threads and ends the trace; the library stays, and may be attached anew.
void detach();

/// GEIGER_DIR of the image, "" if it has none.
const char* trace_directory();

}  // namespace geiger::capture
