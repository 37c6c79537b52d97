// Facts about a process, from the headers of its traces and the records of its threads.
#pragma once

#include <string>

#include "analysis/profile/recording.h"
#include "trace/format.h"

namespace geiger::ingest {

/// By the header of its first image; `path` is the trace's.
[[nodiscard]] profile::Process process_of(const trace::FileHeader& header, const std::string& path);

/// Adds the facts in the header of a further segment; times and counts of records are added once it
/// is read.
void go_on(profile::Process& process, const trace::FileHeader& header);

/// Adds the totals of one segment, whose latest state they are. `pending`: of the thread's
/// record in the segment before, 0 without one; becomes that of this one.
void add_totals(profile::Thread& thread, const trace::ThreadRecord& layout, Bytes& pending);

}  // namespace geiger::ingest
