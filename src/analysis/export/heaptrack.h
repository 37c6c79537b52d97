// heaptrack's interpreted text, version 3: what heaptrack_print and heaptrack_gui read.
#pragma once

#include <string>

#include "analysis/export/streams/sink.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"

namespace geiger::exports {

/// Every sampled object of `part` is written as one block of the bytes that it stands for, so
/// bytes are estimates and numbers of calls are numbers of samples. Blocks' bytes are integers
/// that add up to the rounded estimate of what was allocated. Of processes that only counted
/// their samples those of one size and stack are one block. A comment below each block has the
/// samples behind it, so that geiger reads estimates back as estimates. `command`: what is shown as
/// the program that ran.
void write_heaptrack(const profile::Recording& recording, const profile::Selection& part,
                     const std::string& command, const Sink& sink);

}  // namespace geiger::exports
