#include "estimation/distributions/uniformity.h"

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <span>

#include "estimation/distributions/quiet.h"
#include "estimation/sums.h"

namespace geiger::estimation {
namespace {

constexpr double kPi = boost::math::constants::pi<double>();
constexpr double kImpossible = 2;

constexpr std::size_t kLeastForAndersonDarling = 10;
constexpr std::size_t kLeastForChiSquare = 200;
constexpr std::size_t kPositionsPerBin = 50;
constexpr unsigned kMostBins = 64;

// One term of Smirnov's series for P(sum lambda_j Z_j^2 > x), lambda_j = 1/(j(j+1)):
// the integral of e^(-xu/2) / (u sqrt|D(u)|) over u from (2k-1)2k to 2k(2k+1), where
// D(u) = prod(1 - u lambda_j) = -cos(pi s/2) / (pi u), s = sqrt(1 + 4u). In
// s = 4k + sin(theta) the square-root singularities at both ends are gone, and the
// integrand continues as a smooth periodic function: the midpoint rule converges
// faster than any power of the step.
double smirnov_term(double x, int k) {
  constexpr int kSteps = 64;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double theta = kPi * ((i + 0.5) / kSteps - 0.5);
    const double y = std::sin(theta);
    const double s = 4.0 * k + y;
    const double u = (s * s - 1) / 4;
    sum += std::exp(-x * u / 2) * std::sqrt(kPi / (u * std::cos(kPi * y / 2))) * (s / 2) *
           std::cos(theta);
  }
  return sum / kSteps;  // Times pi for the step, over pi in front of the series.
}

double anderson_darling(std::span<const double> sorted) {
  const auto n = static_cast<double>(sorted.size());
  double sum = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    constexpr double kTiny = 0x1p-60;  // A position of exactly 0 is one below 2^-53.
    const double low = std::max(sorted[i], kTiny);
    const double high = std::max(1 - sorted[sorted.size() - 1 - i], kTiny);
    sum += (2 * static_cast<double>(i) + 1) * (std::log(low) + std::log(high));
  }
  return -n - sum / n;
}

Verdict test_anderson_darling(std::vector<double> positions) {
  if (positions.size() < kLeastForAndersonDarling) return {};
  std::ranges::sort(positions);
  const double statistic = anderson_darling(positions);
  return {statistic, anderson_darling_tail(statistic)};
}

unsigned bins_for(std::size_t positions) {
  if (positions < kLeastForChiSquare) return 0;
  return std::min(kMostBins, static_cast<unsigned>(positions / kPositionsPerBin));
}

Verdict test_chi_square(std::span<const double> positions, unsigned bins) {
  if (bins == 0) return {};
  std::vector<double> counts(bins, 0.0);
  for (const double position : positions) {
    const auto bin = static_cast<std::size_t>(position * bins);
    ++counts[std::min<std::size_t>(bin, bins - 1)];
  }
  const double expected = static_cast<double>(positions.size()) / bins;
  double statistic = 0;
  for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
  return {statistic, boost::math::gamma_q((bins - 1) / 2.0, statistic / 2, Quiet())};
}

}  // namespace

double offset_position(Bytes size, std::uint64_t offset, double lambda, double v) {
  if (offset >= size || !(lambda > 0) || !(v >= 0 && v < 1)) return kImpossible;
  if (std::isinf(lambda)) return offset == 0 ? v : kImpossible;
  const double before = lambda * static_cast<double>(offset);
  const double within = -std::expm1(-before) - std::exp(-before) * std::expm1(-lambda) * v;
  // Rounding may give 1, which means impossible.
  return std::min(within / inclusion_probability(size, lambda), 1 - 0x1p-53);
}

double anderson_darling_tail(double x) {
  // Below this, the distribution function is less than 1e-9 and the series converges slowly.
  constexpr double kSurelyAbove = 0.06;
  constexpr int kTerms = 24;
  if (!(x > kSurelyAbove)) return 1;
  double tail = 0;
  for (int k = 1; k <= kTerms; ++k) {
    const double term = smirnov_term(x, k);
    tail += k % 2 == 1 ? term : -term;
    if (term < 1e-17 * tail) break;
  }
  return std::clamp(tail, 0.0, 1.0);
}

// The number of successes of independent trials with different probabilities is
// less spread than a Poisson number of the same mean, so its tails beyond the mean
// are smaller (Hoeffding 1956): the p-value is conservative.
Verdict test_count(std::uint64_t observed, double expected) {
  if (!(expected > 0) || std::isinf(expected)) return {};
  const auto count = static_cast<double>(observed);
  const double at_most = boost::math::gamma_q(count + 1, expected);
  const double at_least = observed == 0 ? 1 : boost::math::gamma_p(count, expected);
  return {count - expected, std::min(1.0, 2 * std::min(at_most, at_least))};
}

double OffsetReport::p_value() const {
  const double least = std::min(
      {anderson_darling.p_value, chi_square.p_value, first_byte.p_value, last_byte.p_value});
  return std::min(1.0, 4 * least);
}

bool OffsetReport::has_failed() const { return impossible > 0 || p_value() < kFalseAlarm; }

void OffsetCheck::add(Bytes size, std::uint64_t offset, double lambda, double v) {
  const double position = offset_position(size, offset, lambda, v);
  if (position >= 1) return void(++impossible_);
  positions_.push_back(position);
  const double pi = inclusion_probability(size, lambda);
  const double first = inclusion_probability(1, lambda);
  first_.observed += offset == 0 ? 1 : 0;
  first_.expected += first / pi;
  last_.observed += offset == size - 1 ? 1 : 0;
  last_.expected += std::exp(-lambda * static_cast<double>(size - 1)) * first / pi;
}

OffsetReport OffsetCheck::report() const {
  OffsetReport report;
  report.samples = positions_.size();
  report.impossible = impossible_;
  report.bins = bins_for(positions_.size());
  report.anderson_darling = test_anderson_darling(positions_);
  report.chi_square = test_chi_square(positions_, report.bins);
  report.first_byte = test_count(first_.observed, first_.expected);
  report.last_byte = test_count(last_.observed, last_.expected);
  return report;
}

}  // namespace geiger::estimation
