// Facts about a process: from its headers and threads, and those known only when all of its
// segments have been read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "trace/format.h"

namespace geiger::ingest {

// Facts about a process, from the headers of its traces and the records of its threads.

/// By the header of its first image; `path` is the trace's.
[[nodiscard]] profile::Process process_of(const trace::FileHeader& header, const std::string& path);

/// Adds the facts in the header of a further segment; times and counts of records are added once it
/// is read.
void go_on(profile::Process& process, const trace::FileHeader& header);

/// Adds the totals of one segment, whose latest state they are.
void add_totals(profile::Thread& thread, const trace::ThreadRecord& layout);

// Facts about a process that are known only when all of its segments have been read: thinned
// samples, missing segments.

/// Marks the samples of a process that its thinning dropped.
void mark_thinned_out(profile::Recording& recording, std::uint32_t process);

/// What is missing, a line each: segments in between, parts of checkpoints.
[[nodiscard]] std::vector<std::string> faults_of(const profile::Process& process);

}  // namespace geiger::ingest
