// Tables with rows made from stacks: one row per function to blame, per line, per stack or per
// module.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/groups/view.h"
#include "analysis/profile/recording.h"
#include "estimation/sums.h"

namespace geiger::profile {

/// Rows in no particular order. Of functions and lines: `self` of what they are to blame for,
/// `total` of all stacks that they are in and not left out of.
[[nodiscard]] std::vector<Row> table_of_functions(const Recording& recording,
                                                  const std::vector<StackSums>& by_stack);
[[nodiscard]] std::vector<Row> table_of_lines(const Recording& recording,
                                              const std::vector<StackSums>& by_stack);
[[nodiscard]] std::vector<Row> table_of_stacks(const Recording& recording,
                                               const std::vector<StackSums>& by_stack);
[[nodiscard]] std::vector<Row> table_of_modules(const Recording& recording,
                                                const std::vector<StackSums>& by_stack);

}  // namespace geiger::profile
