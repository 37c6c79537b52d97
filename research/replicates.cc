#include "research/replicates.h"

namespace geiger::research {
namespace {

constexpr std::uint64_t kLeastBlock = 100;
constexpr std::uint64_t kMostBlocks = 1000;  // Of a cell: their tallies are kept.

}  // namespace

double uniform(std::mt19937_64& generator) {
  return static_cast<double>(generator() >> 11) * 0x1p-53;
}

std::uint64_t blocks_of(const TableSettings& settings) {
  return (settings.replicates + block_size(settings) - 1) / block_size(settings);
}

/// Depends on nothing that may change a result.
std::uint64_t block_size(const TableSettings& settings) {
  return std::max(kLeastBlock, (settings.replicates + kMostBlocks - 1) / kMostBlocks);
}

std::mt19937_64 generator_of(const TableSettings& settings, std::uint64_t row, double samples,
                             std::uint64_t block) {
  std::seed_seq seeds{settings.seed, settings.seed >> 32,
                      row,           static_cast<std::uint64_t>(samples * 1000),
                      block,         block >> 32};
  return std::mt19937_64(seeds);
}

}  // namespace geiger::research
