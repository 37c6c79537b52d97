// The replicates of a simulated cell: their blocks, their seeds, their numbers of samples.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

namespace geiger::research {

struct TableSettings {
  double level = 0.95;  ///< In (0, 1).
  std::uint64_t seed = 1;
  std::uint64_t replicates = 2000;  ///< Of each cell, at least 1.
  /// Objects of at least T bytes are certain, as recordings have them, instead of
  /// tried, as other designs do and `pure` does.
  bool has_certain = false;
};

/// Draws a number evenly distributed in [0, 1).
[[nodiscard]] double uniform(std::mt19937_64& generator);

/// Replicates come in blocks, each with a seed of its own: blocks can be simulated
/// in any order and by any thread, and their tallies merged in their order.
[[nodiscard]] std::uint64_t blocks_of(const TableSettings& settings);
[[nodiscard]] std::uint64_t block_size(const TableSettings& settings);

/// The generator for a block of the cell with the number `row` and so many expected samples.
[[nodiscard]] std::mt19937_64 generator_of(const TableSettings& settings, std::uint64_t row,
                                           double samples, std::uint64_t block);

/// Calls visit(expected samples) for each replicate of a block: over all blocks of a cell
/// evenly from 0.65 to 1.35 times `samples`.
template <typename Visit>
void for_replicates(const TableSettings& settings, double samples, std::uint64_t block,
                    const Visit& visit) {
  const std::uint64_t size = block_size(settings);
  const std::uint64_t last = std::min(settings.replicates, (block + 1) * size);
  for (std::uint64_t i = block * size; i < last; ++i) {
    const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(settings.replicates);
    visit(samples * (0.65 + 0.7 * place));
  }
}

}  // namespace geiger::research
