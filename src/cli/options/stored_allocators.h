// Where `compare-malloc` leaves its result, and how `advise` and `report` find it.
#pragma once

#include <string>

#include "analysis/report/advice/other_allocators.h"
#include "analysis/report/allocators/stored_comparison.h"
#include "base/outcome.h"
#include "cli/options/input.h"

namespace geiger::cli {

/// Writes it into the current directory, over an earlier one. Returns the file's name.
base::Outcome<std::string> store_comparison(const report::StoredComparison& comparison);

/// The result for the program of `input`, beside its run or here, and what it shows; of another
/// build none is used.
[[nodiscard]] report::OtherAllocators stored_allocators(const Input& input,
                                                        const advice::Options& options);

}  // namespace geiger::cli
