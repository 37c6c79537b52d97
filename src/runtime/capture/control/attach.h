// Starts and ends a recording on request from outside, in a process that was not started with the
// runtime, or that sleeps and cannot be called. Objects allocated earlier are not recorded. Each
// thread joins at its first slow path, as in any recording.
//
// Threads: one caller at a time, see interpose/attach.cc. Allocates: never.
#pragma once

#include "base/attachment.h"

extern "C" {
/// Exported like the entry points; an object, so that it can be read without stopping a thread.
// NOLINTNEXTLINE(readability-identifier-naming): a C name.
extern geiger::base::Attachment geiger_attachment_v1;
}

namespace geiger::capture {

void report_state(base::AttachState state);

/// False: an image is already recording, or GEIGER_MODE forbids it, or its trace could not be
/// created.
[[nodiscard]] bool may_attach();

/// Whether this process sleeps: then we have interposed its calls from the start.
[[nodiscard]] bool was_prepared();

/// Starts an image with settings as lines NAME=VALUE. 0, an errno of the trace, or a
/// base::AttachError.
int attach(const char* lines);

/// Settles all threads and ends the trace. The library stays loaded and can be attached again.
void detach();

/// GEIGER_DIR of the image, "" if it has none.
const char* trace_directory();

}  // namespace geiger::capture
