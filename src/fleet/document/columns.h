// Types of a document's columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fleet/document/document.h"

namespace geiger::fleet {

using Numbers = std::vector<std::uint64_t>;
/// Of each number from the one before it, or from another that the reader has: mostly small.
using Differences = std::vector<std::int64_t>;

/// Of any column: steps of stacks are locations and ends.
inline constexpr std::size_t kMostNumbers = kMostPositions + kMostStacks;

}  // namespace geiger::fleet
