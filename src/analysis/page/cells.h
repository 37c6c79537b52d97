// Items put together into cells, as finely as the page can afford.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/page/items.h"
#include "analysis/page/page_data.h"

namespace geiger::page {

// How finely a page distinguishes samples, and its maximum size.
//
// Whatever the length of a run and the number of its samples, a page stays below a size limit: a
// page above it is made again, coarser, in the order of kSteps. Sums of a whole profile are
// unchanged at every step; the page states what a step leaves out.

struct Coarseness {
  std::size_t buckets = 0;     ///< Of the timeline, at most.
  std::size_t size_steps = 0;  ///< Per power of two, of sizes that share strata; 0: each its own.
  bool tells_rates = true;     ///< Sizes share strata within one rate and thinning only.
  std::size_t name_bytes = 0;  ///< Of a name, at most.
  std::size_t nodes = 0;       ///< Of the call tree, at most; as many "[smaller ones]" beside.
  std::size_t told = 0;        ///< Names of threads, of types and of labels, at most each.
};

/// Finest first.
inline constexpr std::array kSteps{
    Coarseness{240, 0, true, 1000, 220'000, 4000}, Coarseness{120, 0, true, 1000, 220'000, 4000},
    Coarseness{60, 0, true, 1000, 220'000, 2000},  Coarseness{60, 16, true, 1000, 220'000, 1000},
    Coarseness{30, 16, true, 300, 220'000, 500},   Coarseness{30, 8, false, 300, 100'000, 500},
    Coarseness{30, 8, false, 200, 50'000, 200},    Coarseness{24, 4, false, 200, 25'000, 100},
    Coarseness{12, 4, false, 120, 12'000, 50},     Coarseness{6, 2, false, 120, 6'000, 20},
    Coarseness{3, 1, false, 80, 2'000, 8},         Coarseness{1, 1, false, 80, 500, 0}};

/// Source lines are omitted if fewer names than this are kept.
inline constexpr std::size_t kToldWithSources = 100;

/// Beyond these no step is tried out: it would not fit.
inline constexpr std::size_t kMostStrata = 20'000, kMostCells = 600'000;

// Items put together into cells, as finely as the page can afford.

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
