// Tests whether drawn bytes are distributed as those of a correct sampler: the self-check of a
// trace. It does not depend on the program, so it costs no information
// (docs/internals/estimators.md, section 9.2).
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace geiger::estimation {

/// Probability integral transform of an offset, (1 - q^offset (1 - v p)) / pi(size):
/// for a correct sampler uniform on [0, 1) if `v` is, at every interval. At least 1 for impossible
/// offsets: offset >= size, size 0, a rate that is not positive, v outside [0, 1). Never NaN.
[[nodiscard]] double offset_position(Bytes size, std::uint64_t offset, double lambda, double v);

/// P(A^2 > x) of the Anderson-Darling statistic for many values, to full relative precision even if
/// tiny. 1 for x <= 0 and NaN.
[[nodiscard]] double anderson_darling_tail(double x);

/// The probability of a statistic this extreme for a correct sampler.
struct Verdict {
  double statistic = 0;
  double p_value = 1;  ///< 1 if there was too little to test.
};

/// Tests whether `observed` independent events are too few or too many for an expectation of
/// `expected`: two-sided, exact for a Poisson number, conservative for events of any other
/// probabilities. `statistic` is observed - expected. Nothing to test (p_value 1) unless `expected`
/// is positive and finite.
[[nodiscard]] Verdict test_count(std::uint64_t observed, double expected);

/// The results of all tests of the offsets of a set of samples.
struct OffsetReport {
  std::uint64_t samples = 0;     ///< Possible ones, used by the tests.
  std::uint64_t impossible = 0;  ///< The drawn byte is outside its allocation.
  Verdict anderson_darling;      ///< Over the positions; from 10 samples on.
  Verdict chi_square;            ///< Over `bins` equal bins; from 200 samples on.
  unsigned bins = 0;             ///< 50 positions or more in each, on average; at most 64.
  /// Drawn bytes that are the first of their allocation, and the last: `statistic`
  /// is observed - expected. An off-by-one shows here first.
  Verdict first_byte, last_byte;

  /// Of all four tests together: their smallest p-value times 4, at most 1.
  [[nodiscard]] double p_value() const;
  /// Whether the sampler is certainly wrong: an impossible offset, or a p-value that one in a
  /// million correct recordings has.
  [[nodiscard]] bool has_failed() const;

  static constexpr double kFalseAlarm = 1e-6;
};

/// Collects offsets of tried samples (not of certain ones, nor at T = 1).
class OffsetCheck {
 public:
  /// `v` in [0, 1) must not depend on the offset, for example a hash of the sample's reference.
  void add(Bytes size, std::uint64_t offset, double lambda, double v);
  [[nodiscard]] OffsetReport report() const;

 private:
  struct Edge {
    std::uint64_t observed = 0;
    double expected = 0;
  };
  std::vector<double> positions_;
  std::uint64_t impossible_ = 0;
  Edge first_, last_;
};

}  // namespace geiger::estimation
