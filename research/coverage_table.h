// Which intervals hold, by simulation: methods against mixes of sizes, from half an
// expected sample to a thousand (docs/internals/estimators.md, section 8.2).
//
// A replicate draws a site of the mix, runs the sampler over it and asks of every
// method whether its interval contains the true bytes. The expected samples of the
// replicates of a cell spread evenly over 0.65 to 1.35 times their nominal number:
// at one exact number the coverage of any interval for counts swings with it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "estimation/estimate.h"
#include "research/coverage.h"
#include "research/replicates.h"

namespace geiger::research {

/// What sites are made of; T is the interval.
enum class Mix : std::uint8_t {
  kConst16,    ///< 16 bytes each.
  kLognormal,  ///< Median 100 bytes, sigma 1.5.
  kPower,      ///< P(size > x) = (16 / x)^1.1 up to 16 T.
  kHuge,       ///< T/4 to 8 T, evenly in the logarithm.
  kHalves,     ///< Half of the bytes in 64-byte objects, half in objects of 2 T.
  kConstT,     ///< T each.
  kConst2T,    ///< 2 T each.
  kConst3T,    ///< 3 T each.
};
inline constexpr std::size_t kMixes = 8;

/// Ways to an interval.
enum class Method : std::uint8_t {
  kTotal,        ///< FF-SG, for totals.
  kListed,       ///< Its form for rows; over the replicates that have a sample.
  kNormal,       ///< Y +- z sqrt(V). Without samples: [0, 0].
  kUpToSample,   ///< Negative binomial (s, s). Without samples: [0, 0].
  kFixedWindow,  ///< Negative binomial (s, s + 1).
  kCampPaulson,  ///< kFixedWindow by Camp and Paulson. Without samples: [0, 0].
};
inline constexpr std::size_t kMethods = 6;

/// "const16", "lognormal", "power", "huge", "halves", "constT", "const2T", "const3T".
[[nodiscard]] std::string_view name_of(Mix mix);
/// "FF-SG", "FF-SG listed", "normal", "NB (s,s)", "NB (s,s+1)", "Camp-Paulson".
[[nodiscard]] std::string_view name_of(Method method);

/// A column of a mix.
struct Cell {
  Mix mix = Mix::kConst16;
  double samples = 1;  ///< Expected, > 0.
};

/// How a method did over replicates.
struct MethodTally {
  std::uint64_t counted = 0;  ///< Replicates that it had to answer for.
  std::uint64_t covered = 0, missed_below = 0, missed_above = 0;
  double width = 0;  ///< Sum of interval width over true bytes.
  double width_squares = 0;

  /// Counts a replicate whose site has `truth` > 0 bytes.
  void add(const estimation::Interval& interval, double truth);
  void merge(const MethodTally& other);
  /// Share covered with its exact interval (Clopper and Pearson); [0, 1] of nothing.
  [[nodiscard]] double coverage() const;
  [[nodiscard]] estimation::Interval coverage_interval(double level) const;
  [[nodiscard]] double mean_width() const;
  /// Standard error of mean_width().
  [[nodiscard]] double mean_width_error() const;
};
using CellTally = std::array<MethodTally, kMethods>;

/// The intervals of all methods at one level. Remembers quantiles: keep one for
/// each thread. What it says does not depend on what it was asked before.
class IntervalBook {
 public:
  explicit IntervalBook(double level) : level_(level) {}

  /// `untried`: sum of size - offset over the samples; `interval` T > 1.
  [[nodiscard]] estimation::Interval interval(Method method, const estimation::NodeSums& sums,
                                              double untried, double interval);

 private:
  [[nodiscard]] estimation::Interval of_law(Method method, std::uint64_t samples, double interval);

  double level_;
  std::array<std::vector<std::optional<estimation::Interval>>, kMethods> known_;  ///< By samples.
};

/// Interval of all simulated sites. Coverage depends on sizes over T only.
inline constexpr Bytes kTableInterval = 512 * kKiB;

/// A site of the mix with so many expected samples, fractions of objects rounded at
/// random; at least one object.
[[nodiscard]] Site draw_site(const Cell& cell, bool has_certain, std::mt19937_64& generator);

/// `block` < blocks_of(settings). `book` was made for the level of `settings`.
[[nodiscard]] CellTally simulate_block(const TableSettings& settings, const Cell& cell,
                                       std::uint64_t block, IntervalBook& book);

}  // namespace geiger::research
