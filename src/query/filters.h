// Filters samples by their properties: --thread, --label, --type, --size, --pid, --function,
// --focus and --ignore.
#pragma once

#include <string>
#include <vector>

#include "analysis/profile/select/profile.h"
#include "base/outcome.h"
#include "query/selection.h"

namespace geiger::query {

/// What filters have to say beside their answers.
struct Remarks {
  std::vector<std::string> said;  ///< A sentence for each filter that nothing known matches.
  std::vector<std::string> open;  ///< As of present::Scope.
};

/// Samples that all given filters match; empty where none is given. Names may contain * and ?.
[[nodiscard]] base::Outcome<profile::Keeps> filter_of(const SelectionOptions& options,
                                                      const profile::Recording& recording,
                                                      Remarks& remarks);

/// The heap of that name; fails if none was sampled.
[[nodiscard]] base::Outcome<std::uint32_t> heap_named(const std::string& name,
                                                      const profile::Recording& recording);

}  // namespace geiger::query
