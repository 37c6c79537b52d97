// The intervals. Notation and derivation: docs/internals/estimators.md.
#include "estimation/estimate.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>

#include "estimation/distributions/gamma.h"

namespace geiger::estimation {

namespace {

// The uncertain part of a node: bytes or objects, the formulas are the same.
struct Uncertain {
  double seen;       ///< B, or s for objects: a lower bound.
  double weighted;   ///< Y, or C.
  double deviation;  ///< sqrt(V), or sqrt(VC).
  double event;      ///< E, or c: what the next unseen event may add.
  double listing;    ///< e: P(no sample | N) is at least exp(-N / listing).

  [[nodiscard]] Gamma lower_law() const { return {weighted, deviation}; }
  // Shifted by the bytes seen, with one event added: mean Y - B + E, variance V + E^2.
  [[nodiscard]] Gamma upper_law() const {
    return {std::max(weighted - seen, 0.0) + event, root_of_squares(deviation, event)};
  }
};

Uncertain uncertain(double seen, double weighted, double variance, double event, double listing) {
  return {clean(seen), clean(weighted), clean(std::sqrt(variance)), clean(event), clean(listing)};
}

Interval total_form(const Uncertain& part, double alpha) {
  return {std::max(part.seen, part.lower_law().lower_quantile(alpha / 2)),
          part.seen + part.upper_law().upper_quantile(alpha / 2)};
}

// The root of `f` between two points where its sign differs.
template <typename Function>
double root(const Function& f, double low, double high) {
  const double at_low = f(low);
  const double at_high = f(high);
  if (at_low == 0 || !(at_low * at_high < 0)) return at_low == 0 ? low : high;
  std::uintmax_t iterations = 100;
  const boost::math::tools::eps_tolerance<double> tolerance(48);
  const auto bracket =
      boost::math::tools::toms748_solve(f, low, high, at_low, at_high, tolerance, iterations);
  return bracket.first / 2 + bracket.second / 2;
}

// Above this many E the chance of no sample at all, e^-40, is below rounding.
constexpr double kSurelyListed = 40;

// Both limits condition on the site being listed, each with the bound on that probability that is
// conservative for it: N bytes have no sample with a probability between exp(-N/e) and exp(-N/E).

// L: P(X <= L) = (alpha/2) P(listed | L), X the lower law. The right side is below
// alpha/2, so L is between the bytes seen and the total form's limit.
double listed_lower(const Uncertain& part, double alpha, double classical) {
  if (classical <= part.seen || classical > kSurelyListed * part.event) return classical;
  const Gamma law = part.lower_law();
  const auto excess = [&](double x) {
    return law.below(x) + alpha / 2 * std::expm1(-x / part.event);
  };
  if (excess(part.seen) > 0) return part.seen;
  return root(excess, part.seen, classical);
}

// U: P(B + X > U) - P(unlisted | U) = (alpha/2) P(listed | U), X the upper law:
// positive at B, negative at the total form's limit.
double listed_upper(const Uncertain& part, double alpha, double classical) {
  if (classical > kSurelyListed * part.listing) return classical;
  const Gamma law = part.upper_law();
  const auto excess = [&](double x) {
    const double unlisted = std::exp(-x / part.listing);
    return law.above(x - part.seen) - unlisted - alpha / 2 * (1 - unlisted);
  };
  return root(excess, part.seen, classical);
}

Interval listed_form(const Uncertain& part, double alpha) {
  const Interval classical = total_form(part, alpha);
  return {listed_lower(part, alpha, classical.lo), listed_upper(part, alpha, classical.hi)};
}

// Adds the exact part; the interval always contains the value (at levels near 0 the two limits are
// medians and could exclude it).
Estimate assemble(double exact, const Uncertain& part, const NodeSums& sums, Interval interval) {
  const double value = exact + part.weighted;
  return {value,
          part.deviation * part.deviation,
          {std::min(exact + interval.lo, value), std::max(exact + interval.hi, value)},
          sums.samples,
          exact};
}

Estimate estimate(double exact, const Uncertain& part, const NodeSums& sums, double level,
                  Form form) {
  const double alpha = alpha_of(level);
  const bool is_conditional = form == Form::kListed && sums.samples > 0 && part.event > 0;
  return assemble(exact, part, sums,
                  is_conditional ? listed_form(part, alpha) : total_form(part, alpha));
}

bool is_wide(const NodeSums& sums) {
  return sums.smallest_size > 0 && sums.largest_size >= 2 * sums.smallest_size;
}

// `event`: the heaviest object that may have been missed.
Estimate known_objects(const NodeSums& sums, double event, double level, Form form) {
  // Sizes differ within a node, so no count bounds the probability of being listed from below: 0,
  // which gives the upper limit of the total form.
  const Uncertain part =
      uncertain(static_cast<double>(sums.samples), sums.objects, sums.objects_variance, event, 0);
  return estimate(static_cast<double>(sums.certain_samples), part, sums, level, form);
}

// c'': of sizes that differ, unseen ones may go on below the smallest seen, down to an allocator's
// least usual one, with as many objects per factor.
double next_object(const NodeSums& sums) {
  if (!is_size_known(sums)) return sums.object_interval;
  const double next = heaviest_unseen_object(sums);
  if (!is_wide(sums)) return next;
  constexpr double kLeastUsual = 8;
  const double factors = std::log(std::max(sums.smallest_size, kLeastUsual) / kLeastUsual);
  const double smaller_ones = sums.largest_object_weight * (1 + factors);
  return std::max(next, std::min(smaller_ones, sums.object_interval));
}

Estimate known_bytes(const NodeSums& sums, double level, Form form) {
  const Uncertain part = uncertain(sums.bytes_seen, sums.weighted_bytes, sums.bytes_variance,
                                   sums.largest_interval, sums.smallest_interval);
  return estimate(clean(sums.certain_bytes), part, sums, level, form);
}

}  // namespace

Estimate reaching(Estimate least, const Estimate& most) {
  least.interval.hi = std::max(least.interval.hi, most.interval.hi);
  least.open = std::max(0.0, most.value - least.value);
  return least;
}

// A NaN gets the widest interval.
double alpha_of(double level) {
  const double alpha = 1 - level;
  return alpha > 0x1p-53 ? std::min(alpha, 1.0) : 0x1p-53;
}

Estimate estimate_bytes(const NodeSums& sums, double level, Form form) {
  const Estimate bytes = known_bytes(sums, level, form);
  if (!sums.has_open()) return bytes;
  return reaching(bytes, known_bytes(sums.at_most(), level, form));
}

double heaviest_unseen_object(const NodeSums& sums) {
  const double seen = sums.largest_object_weight;
  if (!(sums.smallest_size > 0 && sums.object_interval > 0)) return seen;
  return std::max(seen, -1 / std::expm1(-sums.smallest_size / sums.object_interval));
}

bool is_size_known(const NodeSums& sums) {
  constexpr std::uint64_t kEnough = 4;
  const std::uint64_t samples = sums.samples + sums.open.samples;
  return samples > 0 && (samples >= kEnough || !is_wide(sums));
}

Estimate estimate_objects(const NodeSums& sums, double level, Form form) {
  const double event = next_object(sums);
  const Estimate objects = known_objects(sums, event, level, form);
  if (!sums.has_open()) return objects;
  return reaching(objects, known_objects(sums.at_most(), event, level, form));
}

double detection_limit(double largest_interval, double level) {
  return largest_interval > 1 ? largest_interval * std::log(2 / alpha_of(level)) : 0;
}

double sampler_z(std::uint64_t hits, std::uint64_t trials, double interval) {
  if (trials == 0 || !(interval > 1)) return 0;
  const double p = 1 / interval;
  const auto n = static_cast<double>(trials);
  return (static_cast<double>(hits) - n * p) / std::sqrt(n * p * (1 - p));
}

}  // namespace geiger::estimation
