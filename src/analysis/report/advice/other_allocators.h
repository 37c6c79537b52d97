// Whether another allocator suits a program better, for `advise`: from runs that `compare-malloc`
// stored.
#pragma once

#include "analysis/advice/advice.h"
#include "analysis/report/advice/advice.h"
#include "analysis/report/allocators/stored_comparison.h"

namespace geiger::report {

/// What the runs show, by the bounds and at the level of `options`.
[[nodiscard]] OtherAllocators other_allocators(StoredComparison stored,
                                               const advice::Options& options);

}  // namespace geiger::report
