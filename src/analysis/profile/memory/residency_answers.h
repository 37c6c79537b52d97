// Resident pages as the runtime found them inside its process, for processes whose pages may not be
// read from outside.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/profile/profile.h"

namespace geiger::profile {

/// The answer that stands for a process.
struct AnswerFacts {
  std::uint32_t process = 0;
  Nanoseconds time = 0;        ///< CLOCK_MONOTONIC: when the process was queried.
  std::uint64_t answered = 0;  ///< Of the samples that were live then.
  std::uint64_t unanswered = 0;
};

/// When each process was queried for its residency: its newest answer, if that is
/// later than its last readable snapshot, or the one of this moment cannot be read. The others
/// are left out.
[[nodiscard]] std::map<std::uint32_t, Nanoseconds> answers_used(const Recording& recording,
                                                                Moment moment);

/// The answers used, each with the samples that it leaves open.
[[nodiscard]] std::vector<AnswerFacts> facts_of_answers(const Recording& recording, Moment moment);

}  // namespace geiger::profile
