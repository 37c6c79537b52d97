// The anonymous memory of the runtime itself, which it lists in its trace's header:
// the kernel shows no owner of anonymous memory, and may join neighbours to one mapping.
#pragma once

#include <span>
#include <vector>

#include "analysis/observe/pagemap.h"
#include "analysis/observe/proc_text.h"
#include "analysis/profile/observations.h"
#include "trace/format.h"

namespace geiger::observe {

struct Range {
  Address start = 0;
  Bytes bytes = 0;
};

/// What the header lists, without what cannot be.
[[nodiscard]] std::vector<Range> runtime_ranges(const trace::FileHeader& header);

/// Moves the bytes of the ranges from the kinds of the mappings they lie in to
/// MapKind::kRuntime. The sums over all kinds stay what they are.
void move_runtime_ranges(std::span<const Range> ranges, std::span<const Mapping> mappings,
                         std::span<const profile::MapKind> kinds, Pagemap& pagemap,
                         profile::MapTable& maps);

}  // namespace geiger::observe
