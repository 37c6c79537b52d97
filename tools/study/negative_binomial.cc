#include "study/negative_binomial.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "estimation/distributions/normal.h"
#include "estimation/distributions/quiet.h"
#include "estimation/sums.h"

namespace geiger::study {
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

estimation::Checked<NegativeBinomial> law_of(std::uint64_t successes, double interval) {
  if (!(interval >= 1 && interval <= 0x1p63)) return estimation::InputError::kInterval;
  return NegativeBinomial::make(successes, estimation::rate_of_interval(interval));
}

/// The laws of the lower and the upper limit; they differ in s at most.
struct Laws {
  NegativeBinomial lower, upper;
};

/// The laws of s and of s + `more`; s >= 1.
estimation::Checked<Laws> laws_of(std::uint64_t samples, std::uint64_t more, double interval) {
  const estimation::Checked<NegativeBinomial> lower = law_of(samples, interval);
  if (!lower.has_value()) return lower.error();
  const estimation::Checked<NegativeBinomial> upper = law_of(samples + more, interval);
  if (!upper.has_value()) return upper.error();
  return Laws{lower.value(), upper.value()};
}

bool is_untried_possible(double untried) { return untried >= 0 && std::isfinite(untried); }

estimation::Checked<estimation::Interval> fixed_window(std::uint64_t samples, double untried,
                                                       double interval, double level) {
  // Without a sample the lower limit is 0 and only the law of the next one counts.
  const std::uint64_t at_least_one = std::max<std::uint64_t>(samples, 1);
  const estimation::Checked<Laws> laws = laws_of(at_least_one, samples == 0 ? 0 : 1, interval);
  if (!laws.has_value()) return laws.error();
  const double alpha = 1 - level;
  const double lower =
      samples == 0 ? 0 : std::max(0.0, laws.value().lower.failures_at(alpha / 2).value());
  const double upper = laws.value().upper.failures_at_upper(alpha / 2).value() + 1;
  return estimation::Interval{lower + untried, upper + untried};
}

}  // namespace

NegativeBinomial::NegativeBinomial(double successes, double rate)
    : successes_(successes),
      hit_(-std::expm1(-static_cast<long double>(rate))),
      miss_(std::exp(-static_cast<long double>(rate))) {}

estimation::Checked<NegativeBinomial> NegativeBinomial::make(std::uint64_t successes, double rate) {
  const auto s = static_cast<double>(successes);
  if (successes == 0 || s > kMostSuccesses) return estimation::InputError::kCount;
  if (!(rate >= kLeastRate)) return estimation::InputError::kProbability;
  return NegativeBinomial(s, rate);
}

// In both tails the smaller of p and q goes in: the other is one minus it to all
// digits, while one minus the larger is not.

long double NegativeBinomial::below(long double failures) const {
  if (!(failures > -1)) return 0;
  if (miss_ == 0 || std::isinf(failures)) return 1;
  return hit_ <= miss_ ? boost::math::ibeta(successes_, failures + 1, hit_, estimation::Quiet())
                       : boost::math::ibetac(failures + 1, successes_, miss_, estimation::Quiet());
}

long double NegativeBinomial::above(long double failures) const {
  if (!(failures > -1)) return 1;
  if (miss_ == 0 || std::isinf(failures)) return 0;
  return hit_ <= miss_ ? boost::math::ibetac(successes_, failures + 1, hit_, estimation::Quiet())
                       : boost::math::ibeta(failures + 1, successes_, miss_, estimation::Quiet());
}

double NegativeBinomial::at_most(double failures) const {
  return static_cast<double>(below(failures));
}

double NegativeBinomial::more_than(double failures) const {
  return static_cast<double>(above(failures));
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

estimation::Checked<double> NegativeBinomial::root(double target) const {
  if (!estimation::is_probability(target)) return estimation::InputError::kProbability;
  return static_cast<double>(root_between(target, 1 - target));
}

estimation::Checked<double> NegativeBinomial::failures_at(double target) const {
  if (!estimation::is_probability(target)) return estimation::InputError::kProbability;
  return floor_between(target, 1 - target);
}

estimation::Checked<double> NegativeBinomial::failures_at_upper(double tail) const {
  if (!estimation::is_probability(tail)) return estimation::InputError::kProbability;
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
  return estimation::normal_below(numerator / deviation);
}

estimation::Checked<double> NegativeBinomial::camp_paulson_root(double target) const {
  if (!estimation::is_probability(target)) return estimation::InputError::kProbability;
  if (camp_paulson_at_most(0) > target) return -1.0;
  const auto excess = [&](long double x) -> long double {
    return camp_paulson_at_most(static_cast<double>(x)) - target;
  };
  return static_cast<double>(increasing_root(excess, 2 * successes_ * miss_ / hit_ + 1));
}

estimation::Checked<estimation::Interval> failed_trials_interval(std::uint64_t samples,
                                                                 double untried, double interval,
                                                                 double level, Window window) {
  if (!estimation::is_confidence_level(level)) return estimation::InputError::kLevel;
  if (!is_untried_possible(untried)) return estimation::InputError::kSize;
  if (window == Window::kFixed) return fixed_window(samples, untried, interval, level);
  const estimation::Checked<NegativeBinomial> law = law_of(samples, interval);
  if (!law.has_value()) return law.error();
  const double alpha = 1 - level;
  const double lower = law.value().failures_at(alpha / 2).value();
  const double upper = law.value().failures_at_upper(alpha / 2).value();
  return estimation::Interval{std::max(0.0, lower) + untried, std::max(0.0, upper) + untried};
}

estimation::Checked<estimation::Interval> camp_paulson_interval(std::uint64_t samples,
                                                                double untried, double interval,
                                                                double level) {
  if (!estimation::is_confidence_level(level)) return estimation::InputError::kLevel;
  if (!is_untried_possible(untried)) return estimation::InputError::kSize;
  const estimation::Checked<Laws> laws = laws_of(samples, 1, interval);
  if (!laws.has_value()) return laws.error();
  const double alpha = 1 - level;
  const double lower = laws.value().lower.camp_paulson_root(alpha / 2).value();
  const double target = std::min(1 - alpha / 2, 1 - 0x1p-53);
  const double upper = laws.value().upper.camp_paulson_root(target).value();
  return estimation::Interval{std::max(0.0, lower) + untried, std::max(0.0, upper) + untried};
}

estimation::Checked<estimation::Interval> same_size_objects_interval(std::uint64_t samples,
                                                                     Bytes size, double lambda,
                                                                     double level) {
  if (!estimation::is_confidence_level(level)) return estimation::InputError::kLevel;
  if (size == 0) return estimation::InputError::kSize;
  const double rate = lambda * static_cast<double>(size);
  const estimation::Checked<NegativeBinomial> next = NegativeBinomial::make(samples + 1, rate);
  if (!next.has_value()) return next.error();
  const double alpha = 1 - level;
  const auto seen = static_cast<double>(samples);
  const double upper = seen + next.value().failures_at_upper(alpha / 2).value() + 1;
  if (samples == 0) return estimation::Interval{0, upper};
  const estimation::Checked<NegativeBinomial> law = NegativeBinomial::make(samples, rate);
  return estimation::Interval{seen + law.value().failures_at(alpha / 2).value() + 1, upper};
}

}  // namespace geiger::study
