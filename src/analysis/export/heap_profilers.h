// Formats of other heap profilers: DHAT's JSON and heaptrack's interpreted text.
#pragma once

#include <string>

#include "analysis/export/streams/sink.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::exports {

// DHAT's JSON, version 2: what valgrind's dh_view.html and the Firefox profiler read.

/// Everything that `part` selects: what was allocated with how long it lived, live at the peak
/// and at the end, and at the maximum of each stack. The last is the largest estimate that the
/// stack ever had, so it leans upwards where samples are few; the others do not. Times in
/// microseconds from the start of the recording. `command`: what viewers show of the file.
void write_dhat(const profile::Recording& recording, const profile::Selection& part,
                const std::string& command, const Sink& sink);

/// One profile without times.
void write_dhat_of(const profile::Recording& recording, const profile::Profile& profile,
                   const std::string& command, const Sink& sink);

// heaptrack's interpreted text, version 3: what heaptrack_print and heaptrack_gui read.

/// Every sampled object of `part` is written as one block of the bytes that it stands for, so
/// bytes are estimates and numbers of calls are numbers of samples. Blocks' bytes are integers
/// that add up to the rounded estimate of what was allocated. Of processes that only counted
/// their samples those of one size and stack are one block. A comment below each block has the
/// samples behind it, so that geiger reads estimates back as estimates. `command`: what is shown as
/// the program that ran.
void write_heaptrack(const profile::Recording& recording, const profile::Selection& part,
                     const std::string& command, const Sink& sink);

}  // namespace geiger::exports
