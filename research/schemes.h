// Why bytes are chosen by chance: sampling schemes against patterns of allocations, by
// simulation (docs/internals/estimators.md, section 8.3).
//
// A program allocates objects of 16 bytes, a quarter of them at the site of interest, in a pattern.
// Every scheme samples one byte in T on average, and the site's confidence interval is computed
// alike for all: only the choice of bytes differs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "research/coverage_table.h"

namespace geiger::research {

/// Where the objects of the site are.
enum class Pattern : std::uint8_t {
  kEveryFourth,  ///< Every fourth object: a period of 64 bytes, which divides T.
  kQuarterOfT,   ///< A quarter of every T bytes, in one piece.
  kShuffled,     ///< Anywhere, in no order.
};
inline constexpr std::size_t kPatterns = 3;

/// Ways to choose the next byte, T further on average.
enum class Scheme : std::uint8_t {
  kBernoulli,  ///< Each byte with probability 1/T.
  kJittered,   ///< T, and evenly up to T/8 more or less.
  kFixed,      ///< Exactly T.
};
inline constexpr std::size_t kSchemes = 3;

/// "every 4th", "T/4 of T", "shuffled".
[[nodiscard]] std::string_view name_of(Pattern pattern);
/// "Bernoulli", "jittered", "fixed stride".
[[nodiscard]] std::string_view name_of(Scheme scheme);

/// How a scheme did over replicates.
struct SchemeTally {
  MethodTally intervals;     ///< FF-SG, for totals.
  double error_squares = 0;  ///< Sum of ((estimate - truth) / truth)^2.

  void merge(const SchemeTally& other);
  /// Root of the mean squared error, over the truth.
  [[nodiscard]] double error() const;
};
using PatternTally = std::array<SchemeTally, kSchemes>;

/// Blocks as of `simulate_block`: `block` < blocks_of(settings). `samples` > 0 are expected of
/// the site. The pattern starts at a random byte of the program, which differs between
/// replicates. `has_certain` changes nothing: all objects are small.
[[nodiscard]] PatternTally simulate_pattern(const TableSettings& settings, Pattern pattern,
                                            double samples, std::uint64_t block);

}  // namespace geiger::research
