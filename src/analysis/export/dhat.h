// DHAT's JSON, version 2: what valgrind's dh_view.html and the Firefox profiler read.
#pragma once

#include <string>

#include "analysis/export/streams/sink.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::exports {

/// Everything that `part` selects: what was allocated with how long it lived, live at the peak
/// and at the end, and at the maximum of each stack. The last is the largest estimate that the
/// stack ever had, so it leans upwards where samples are few; the others do not. Times in
/// microseconds from the start of the recording. `command`: what viewers show of the file.
void write_dhat(const profile::Recording& recording, const profile::Selection& part,
                const std::string& command, const Sink& sink);

/// One profile without times.
void write_dhat_of(const profile::Recording& recording, const profile::Profile& profile,
                   const std::string& command, const Sink& sink);

}  // namespace geiger::exports
