// The marks of a recording in order of time, those of one name numbered.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/recording.h"

namespace geiger::profile {

struct NumberedMark {
  std::uint32_t mark = 0;     ///< Index into Recording::marks.
  std::uint32_t number = 1;   ///< Among the marks of its name, from 1, over all processes.
  std::uint32_t of_name = 1;  ///< How many there are.
};

/// By time; of one instant in the order of the recording.
[[nodiscard]] std::vector<NumberedMark> numbered_marks(const Recording& recording);

}  // namespace geiger::profile
