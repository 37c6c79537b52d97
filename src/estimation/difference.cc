#include "estimation/difference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "estimation/distributions/gamma.h"
#include "estimation/distributions/probabilities.h"
#include "estimation/estimate.h"

namespace geiger::estimation {

// Derivation and evidence: docs/internals/estimators.md, section 14.

namespace {

double exposure_of(const Side& side) {
  return side.exposure > 0 && std::isfinite(side.exposure) ? side.exposure : 1;
}

double uneven_bytes_of(const Side& side) {
  return std::min(clean(side.uneven_bytes), clean(side.sums.certain_bytes));
}

// The estimate of tried bytes, without the certain part.
Estimate sampled_part(const Side& side, double level) {
  NodeSums sums = side.sums;
  sums.certain_bytes = 0;
  return estimate_bytes(sums, level);
}

// No object of less than T bytes weighs more than T / (1 - 1/e); the slack is for
// rounding.
constexpr double kHeaviestBelowInterval = 1.5819767068693265 * (1 + 1e-9);

// Whether large objects were tried (pure mode).
bool holds_large_trials(const NodeSums& sums) {
  return clean(sums.largest_weight) > kHeaviestBelowInterval * clean(sums.largest_interval);
}

// The two sides, prepared for comparison.
struct Pair {
  Side before, after;

  Pair(const Side& a, const Side& b) : before(a), after(b) {
    settle_next_event(before.sums, after.sums);
  }
};

// A side's bytes per unit of exposure, as used by the test.
struct Tested {
  double known;      ///< Uneven bytes.
  double seen;       ///< B: lower bound of the sampled part.
  double mean;       ///< Y.
  double deviation;  ///< sqrt(V).
  double event;      ///< E.
};

Tested tested(const Side& side) {
  const Estimate sampled = sampled_part(side, 0.5);
  const double exposure = exposure_of(side);
  return {uneven_bytes_of(side) / exposure,
          std::min(clean(side.sums.bytes_seen), sampled.value) / exposure, sampled.value / exposure,
          std::sqrt(sampled.variance) / exposure, side.sums.largest_interval / exposure};
}

// P(few <= many) and P(few >= many), given the samples, with one more event about to happen on the
// side of `many`. Bytes known on one side that are known or seen on the other too are omitted on
// both: the rest of the law with the event is then shifted to the bytes seen, as in the interval,
// and has the right skewness.
Order order_with_event(const Tested& few, const Tested& many) {
  const double common = std::min(few.known, many.known + many.seen);
  return order_of({few.mean + (few.known - common), few.deviation},
                  {many.mean + many.event + (many.known - common),
                   root_of_squares(many.deviation, many.event)});
}

struct PValues {
  double mid, exact;
};

PValues p_values(const Pair& sides) {
  const Tested a = tested(sides.before);
  const Tested b = tested(sides.after);
  // "At most" is the p-value of growth in the one, of shrinking in the other; for the
  // mid-p version each is averaged with the other's complement.
  const Order growth = order_with_event(b, a);
  const Order shrinking = order_with_event(a, b);
  const double exact = std::min(1.0, 2 * std::min(growth.at_most, shrinking.at_most));
  // Bytes known on only one side have no randomness to average the other side's steps over: mid-p
  // would reject up to 1.4 times too often.
  if (a.known != b.known) return {exact, exact};
  const double mid =
      std::min({1.0, growth.at_most + shrinking.at_least, shrinking.at_most + growth.at_least});
  // Nearly complete samples of large objects can leave the two in the other order.
  return {mid, std::max(mid, exact)};
}

Estimate per_unit(const Estimate& estimate, double exposure) {
  return {estimate.value / exposure,
          estimate.variance / exposure / exposure,
          {estimate.interval.lo / exposure, estimate.interval.hi / exposure},
          estimate.samples,
          0};
}

// How the variance of a side's bytes per unit of exposure grows with its bytes.
struct Noise {
  double bytes;     ///< Tested bytes per unit of exposure.
  double of_seen;   ///< Variance per byte of objects like those seen; at most of_small.
  double of_small;  ///< Variance per byte of small objects, the largest possible: 1/lambda.
};

Noise noise_of(const Side& side) {
  const Estimate sampled = sampled_part(side, 0.5);
  const double exposure = exposure_of(side);
  const double bytes = sampled.value + uneven_bytes_of(side);
  const double of_small = clean(side.sums.largest_interval / exposure);
  if (!(bytes > 0)) return {0, of_small, of_small};
  return {clean(bytes / exposure), std::min(sampled.variance / bytes / exposure, of_small),
          of_small};
}

// The power that `detectable` promises.
constexpr double kPower = 0.8;

// Solves D = z_alpha sd(no change) + z_power sd(growth by D), the usual sum, where
// the variances themselves grow with D: the after side's by its own rate, and that of
// "no change" by the rate of the pooled bytes, which comes out as the before side's.
// The map is concave and contracts by at least 1/2 near its root.
double detectable_growth(const Noise& before, const Noise& after, double alpha) {
  const double z_alpha = upper_normal_quantile(alpha / 2);
  const double z_power = upper_normal_quantile(1 - kPower);
  const double still = before.bytes * (before.of_seen + after.of_seen);
  double growth = 0;
  for (int i = 0; i < 64; ++i) {
    const double start = growth > 0 ? growth : before.of_small + after.of_small;
    growth = z_alpha * std::sqrt(still + start * before.of_small) +
             z_power * std::sqrt(still + start * after.of_small);
  }
  return std::min(std::max(growth, 0.0), kLargestSum);
}

// The after side's share of samples per byte and unit of exposure; infinitely many if nothing can
// be missed.
double share_of_after(const Side& before, const Side& after) {
  const double a = clean(before.sums.largest_interval) * exposure_of(after);
  const double b = clean(after.sums.largest_interval) * exposure_of(before);
  return a + b > 0 ? a / (a + b) : 0.5;
}

// Change per unit of exposure of the certain bytes, and of those certain on both sides.
struct Certain {
  double all, even;
};

Certain certain_change(const Side& before, const Side& after) {
  const double a = clean(before.sums.certain_bytes), b = clean(after.sums.certain_bytes);
  return {b / exposure_of(after) - a / exposure_of(before),
          (b - uneven_bytes_of(after)) / exposure_of(after) -
              (a - uneven_bytes_of(before)) / exposure_of(before)};
}

}  // namespace

void settle_next_event(NodeSums& before, NodeSums& after) {
  const bool is_pure = holds_large_trials(before) || holds_large_trials(after);
  const double heaviest =
      is_pure ? std::max(clean(before.largest_weight), clean(after.largest_weight)) : 0;
  for (NodeSums* sums : {&before, &after}) {
    const double event = clean(sums->largest_interval);
    sums->largest_interval = event > 0 ? std::max(event, heaviest) : 0;
  }
}

// MOVER (Zou and Donner): uses the limits' distances from their estimates like the standard errors
// of normal intervals.
Interval difference_interval(const Estimate& before, const Estimate& after) {
  const double value = after.value - before.value;
  const double down =
      root_of_squares(after.value - after.interval.lo, before.interval.hi - before.value);
  const double up =
      root_of_squares(after.interval.hi - after.value, before.value - before.interval.lo);
  return {value - down, value + up};
}

namespace {

// Without open samples.
Difference known_difference(const Side& before, const Side& after, double level) {
  const Pair sides(before, after);
  const Certain certain = certain_change(before, after);
  const Estimate a = per_unit(sampled_part(sides.before, level), exposure_of(before));
  const Estimate b = per_unit(sampled_part(sides.after, level), exposure_of(after));
  const Interval sampled = difference_interval(a, b);
  const PValues p = p_values(sides);
  const double value = certain.all + (b.value - a.value);
  return {.value = value,
          .interval = {certain.all + sampled.lo, certain.all + sampled.hi},
          .reach = {value, value},
          .certain = certain.even,
          .p_value = p.mid,
          .exact_p_value = p.exact,
          .detectable =
              detectable_growth(noise_of(sides.before), noise_of(sides.after), alpha_of(level))};
}

// Those recorded with certainty take part in the test, as the other side has nothing like them.
Side with_all_open(Side side) {
  side.uneven_bytes += side.sums.open.certain_bytes;
  side.sums = side.sums.at_most();
  return side;
}

Side without_open(Side side) {
  side.sums.open = {};
  return side;
}

}  // namespace

Difference difference(const Side& before, const Side& after, double level) {
  Difference known = known_difference(without_open(before), without_open(after), level);
  if (!before.sums.has_open() && !after.sums.has_open()) return known;
  const Difference least = known_difference(with_all_open(before), without_open(after), level);
  const Difference most = known_difference(without_open(before), with_all_open(after), level);
  known.interval = {std::min(known.interval.lo, least.interval.lo),
                    std::max(known.interval.hi, most.interval.hi)};
  known.reach = {least.value, most.value};
  const bool has_sign = least.value > 0 || most.value < 0;
  known.p_value = has_sign ? std::max(least.p_value, most.p_value) : 1;
  known.exact_p_value = has_sign ? std::max(least.exact_p_value, most.exact_p_value) : 1;
  known.detectable = std::max(least.detectable, most.detectable) + (most.value - least.value);
  return known;
}

double smallest_attainable_p(const Side& before, const Side& after) {
  if (uneven_bytes_of(before) > 0 || uneven_bytes_of(after) > 0) return 0;
  const double share = share_of_after(before, after);
  const double samples =
      static_cast<double>(before.sums.samples) + static_cast<double>(after.sums.samples);
  return std::pow(std::min(share, 1 - share), samples);
}

std::vector<double> adjusted_p_values(std::span<const double> p) {
  std::vector<double> values(p.begin(), p.end());
  for (double& value : values) value = value <= 1 ? std::max(value, 0.0) : 1.0;
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  const auto tests = static_cast<double>(values.size());
  double smallest = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    double& value = values[order[rank - 1]];
    smallest = std::min(smallest, value * tests / static_cast<double>(rank));
    value = smallest;
  }
  return values;
}

}  // namespace geiger::estimation
