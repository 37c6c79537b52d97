#include "estimation/distributions/negative_binomial.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "estimation/distributions/gamma.h"
#include "estimation/distributions/quiet.h"
#include "estimation/sums.h"

namespace geiger::estimation {
namespace {

constexpr double kMostSuccesses = 0x1p53;
constexpr double kLeastRate = 0x1p-63;
/// From here on doubles no longer hold every whole number.
constexpr long double kWhole = 0x1p53L;

/// A point where `excess` is positive, from `start` on.
template <typename Function>
long double upper_bracket(const Function& excess, long double start) {
  // No quantile of any law here is beyond 1e60 unless its target was rounding.
  constexpr long double kEnd = 1e60L;
  long double high = start;
  while (high < kEnd && !(excess(high) > 0)) high *= 2;
  return high;
}

/// The root of an increasing function on [0, inf), to the last digits: what counts
/// is its floor. 0 where it is not negative there.
template <typename Function>
long double increasing_root(const Function& excess, long double start) {
  const long double at_zero = excess(0.0L);
  if (!(at_zero < 0)) return 0;
  const long double high = upper_bracket(excess, start);
  const long double at_high = excess(high);
  if (!(at_high > 0)) return high;
  std::uintmax_t iterations = 200;
  const boost::math::tools::eps_tolerance<long double> tolerance(63);
  const auto bracket = boost::math::tools::toms748_solve(excess, 0.0L, high, at_zero, at_high,
                                                         tolerance, iterations);
  return bracket.first / 2 + bracket.second / 2;
}

bool is_untried_possible(double untried) { return untried >= 0 && std::isfinite(untried); }

Checked<Interval> fixed_window(std::uint64_t samples, double untried, double interval,
                               double level) {
  const Checked<NegativeBinomial> next = NegativeBinomial::of_interval(samples + 1, interval);
  if (!next.has_value()) return next.error();
  const double tail = (1 - level) / 2;
  double lower = 0;
  if (samples > 0) {
    const auto law = NegativeBinomial::of_interval(samples, interval);
    lower = std::max(0.0, law.value().failures_at(tail).value());
  }
  return Interval{lower + untried, next.value().failures_at_upper(tail).value() + 1 + untried};
}

}  // namespace

NegativeBinomial::NegativeBinomial(double successes, double rate)
    : successes_(successes),
      hit_(-std::expm1(-static_cast<long double>(rate))),
      miss_(std::exp(-static_cast<long double>(rate))) {}

Checked<NegativeBinomial> NegativeBinomial::make(std::uint64_t successes, double rate) {
  const auto s = static_cast<double>(successes);
  if (successes == 0 || s > kMostSuccesses) return InputError::kCount;
  if (!(rate >= kLeastRate)) return InputError::kProbability;
  return NegativeBinomial(s, rate);
}

Checked<NegativeBinomial> NegativeBinomial::of_interval(std::uint64_t successes, double interval) {
  if (!(interval >= 1 && interval <= 0x1p63)) return InputError::kInterval;
  return make(successes, rate_of_interval(interval));
}

// In both tails the smaller of p and q goes in: the other is one minus it to all
// digits, while one minus the larger is not.

long double NegativeBinomial::below(long double failures) const {
  if (!(failures > -1)) return 0;
  if (miss_ == 0 || std::isinf(failures)) return 1;
  return hit_ <= miss_ ? boost::math::ibeta(successes_, failures + 1, hit_, Quiet())
                       : boost::math::ibetac(failures + 1, successes_, miss_, Quiet());
}

long double NegativeBinomial::above(long double failures) const {
  if (!(failures > -1)) return 1;
  if (miss_ == 0 || std::isinf(failures)) return 0;
  return hit_ <= miss_ ? boost::math::ibetac(successes_, failures + 1, hit_, Quiet())
                       : boost::math::ibeta(failures + 1, successes_, miss_, Quiet());
}

double NegativeBinomial::at_most(double failures) const {
  return static_cast<double>(below(failures));
}

long double NegativeBinomial::root_between(double target, double tail) const {
  if (below(0) > target) return -1;
  const auto excess = [&](long double x) {
    return target <= tail ? below(x) - target : tail - above(x);
  };
  return increasing_root(excess, 2 * successes_ * miss_ / hit_ + 1);
}

double NegativeBinomial::floor_between(double target, double tail) const {
  const long double failures = std::floor(root_between(target, tail));
  if (failures < 0 || failures > kWhole) return static_cast<double>(failures);
  // A root that is a whole number may have come out just below it or above.
  const auto is_within = [&](long double f) {
    return target <= tail ? below(f) <= target : above(f) >= tail;
  };
  if (is_within(failures + 1)) return static_cast<double>(failures + 1);
  return static_cast<double>(is_within(failures) ? failures : failures - 1);
}

Checked<double> NegativeBinomial::failures_at(double target) const {
  if (!is_probability(target)) return InputError::kProbability;
  return floor_between(target, 1 - target);
}

Checked<double> NegativeBinomial::failures_at_upper(double tail) const {
  if (!is_probability(tail)) return InputError::kProbability;
  return floor_between(1 - tail, tail);
}

double NegativeBinomial::camp_paulson_at_most(double failures) const {
  if (!(failures > -1)) return 0;
  if (miss_ == 0 || std::isinf(failures)) return 1;
  // I_p(s, f + 1) is a tail of F with 2s and 2(f + 1) degrees of freedom, and the
  // cube root of F is nearly a quotient of two normal variables (Paulson 1942).
  const auto s = static_cast<double>(successes_);
  const double f = failures + 1;
  const double cube = std::cbrt(f * static_cast<double>(hit_ / miss_) / s);
  const double numerator = (1 - 1 / (9 * f)) * cube - (1 - 1 / (9 * s));
  const double deviation = std::sqrt(cube * cube / (9 * f) + 1 / (9 * s));
  return normal_below(numerator / deviation);
}

Checked<double> NegativeBinomial::camp_paulson_root(double target) const {
  if (!is_probability(target)) return InputError::kProbability;
  if (camp_paulson_at_most(0) > target) return -1.0;
  const auto excess = [&](long double x) -> long double {
    return camp_paulson_at_most(static_cast<double>(x)) - target;
  };
  return static_cast<double>(increasing_root(excess, 2 * successes_ * miss_ / hit_ + 1));
}

double NegativeBinomial::camp_paulson_error() const {
  const auto mean = static_cast<double>(successes_ * miss_ / hit_);
  const double reach = 8 * std::sqrt(mean / static_cast<double>(hit_));
  const double first = std::max(0.0, mean - reach);
  constexpr int kSteps = 200;
  double largest = 0;
  for (int i = 0; i <= kSteps; ++i) {  // Closer together at the lower end, where few fail.
    const double at = first + (mean + reach - first) * i / kSteps * i / kSteps;
    largest = std::max(largest, std::abs(camp_paulson_at_most(at) - at_most(at)));
  }
  return largest;
}

Checked<Interval> failed_trials_interval(std::uint64_t samples, double untried, double interval,
                                         double level, Window window) {
  if (!is_confidence_level(level)) return InputError::kLevel;
  if (!is_untried_possible(untried)) return InputError::kSize;
  if (window == Window::kFixed) return fixed_window(samples, untried, interval, level);
  const Checked<NegativeBinomial> law = NegativeBinomial::of_interval(samples, interval);
  if (!law.has_value()) return law.error();
  const double alpha = 1 - level;
  const double lower = law.value().failures_at(alpha / 2).value();
  const double upper = law.value().failures_at_upper(alpha / 2).value();
  return Interval{std::max(0.0, lower) + untried, std::max(0.0, upper) + untried};
}

Checked<Estimate> estimate_failed_trials(std::uint64_t samples, double untried, double interval,
                                         double level) {
  const Checked<Interval> limits =
      failed_trials_interval(samples, untried, interval, level, Window::kFixed);
  if (!limits.has_value()) return limits.error();
  const double failed = static_cast<double>(samples) * (interval - 1);
  return Estimate{failed + untried, failed * interval, limits.value(), samples};
}

}  // namespace geiger::estimation
