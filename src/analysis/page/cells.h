// Items put together into cells, as finely as the page can afford.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/page/coarseness.h"
#include "analysis/page/items.h"
#include "analysis/page/page_data.h"
#include "analysis/page/span.h"

namespace geiger::page {

/// The shape of a table of cells at a step.
struct CellPlan {
  const Coarseness& coarseness;
  const Buckets& buckets;
  std::span<const std::uint32_t> moved;  ///< Per node of the call tree, the page's.
  NameIndex others = kNoName;  ///< Stands for names of threads, types, labels beyond the most.
  NameIndex unknown_type = kNoName;  ///< Told however few bytes it has: it may be any type.
};

/// Weighted bytes of each item's `count` objects, at most; for ordering.
[[nodiscard]] std::vector<double> weights_of(const Items& items);

/// The cells. Sums over all of them are those of the items.
[[nodiscard]] Cells cells_of(const Items& items, const CellPlan& plan, UsedNames& names);

/// Live bytes at the end of each bucket of items with times.
[[nodiscard]] std::vector<estimation::NodeSums> live_sums(const Items& items,
                                                          const Buckets& buckets,
                                                          double largest_interval);

}  // namespace geiger::page
