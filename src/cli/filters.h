// Samples by their properties: what --thread, --label, --type, --size, --pid, --function, --focus
// and --ignore leave over.
#pragma once

#include <string>
#include <vector>

#include "analysis/profile/profile.h"
#include "cli/outcome.h"
#include "cli/selection.h"

namespace geiger::cli {

/// Samples that all given filters match; empty where none is given. Names may contain
/// * and ?. `remarks` gets one sentence for each filter that nothing known matches.
[[nodiscard]] Outcome<std::function<bool(const profile::Sample&)>> filter_of(
    const SelectionOptions& options, const profile::Recording& recording,
    std::vector<std::string>& remarks);

/// The heap of that name; fails if none was sampled.
[[nodiscard]] Outcome<std::uint32_t> heap_named(const std::string& name,
                                                const profile::Recording& recording);

}  // namespace geiger::cli
