// Times pairs of malloc and free of an allocator on this machine.
#pragma once

#include <string>

#include "analysis/advice/pair_times.h"
#include "base/outcome.h"

namespace geiger::run {

/// Times this process's own allocator and writes the times to `file`, for time_pairs(). Takes about
/// a twentieth of a second.
base::Outcome<void> write_pair_times(const std::string& file);

/// Times the allocator of a recorded process, by the path of its library: in a process of this
/// executable, `geiger advise --time-pairs FILE`, that has it. Nothing else is disturbed. `fault`
/// says why nothing could be timed.
[[nodiscard]] advice::PairTimes time_pairs(const std::string& allocator);

}  // namespace geiger::run
