#include "estimation/calibration.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

#include "estimation/distributions/gamma.h"
#include "estimation/distributions/quiet.h"
#include "estimation/estimate.h"

namespace geiger::estimation {
namespace {

// The inverse beta function loses precision above this. There the law of this many sampled bytes is
// practically constant compared with one with a small shape, and the logarithm of a ratio of two
// with large shapes is normal.
constexpr double kLargeShape = 1e10;
constexpr double kNormalLogShape = 1e6;

double shape_of(const Gamma& law) {
  if (!(law.deviation > 0)) return HUGE_VAL;
  const double ratio = law.mean / law.deviation;
  return ratio * ratio;
}

double odds_to_share(double odds) { return std::isinf(odds) ? 1 : odds / (1 + odds); }

/// x with P(A / (A + B) <= x) = p if ln A - ln B is normal.
double normal_share_quantile(const Gamma& a, const Gamma& b, double p) {
  const double variance = 1 / shape_of(a) + 1 / shape_of(b);
  return odds_to_share(a.mean / b.mean * std::exp(-upper_normal_quantile(p) * std::sqrt(variance)));
}

/// x with P(A / (A + B) <= x) = p: a beta law stretched by the two scales.
double beta_share_quantile(const Gamma& a, const Gamma& b, double p) {
  double rest = 0;
  const double beta = boost::math::ibeta_inv(shape_of(a), shape_of(b), p, &rest, Quiet());
  const double scale_a = a.deviation * (a.deviation / a.mean);
  const double scale_b = b.deviation * (b.deviation / b.mean);
  return odds_to_share(beta / rest * (scale_a / scale_b));
}

/// x with P(A / (A + B) <= x) = p, A and B independent; 0 if A is 0, 1 if only B is.
double share_quantile(const Gamma& a, const Gamma& b, double p) {
  if (!(a.mean > 0)) return 0;
  if (!(b.mean > 0)) return 1;
  const double least = std::min(shape_of(a), shape_of(b));
  const double most = std::max(shape_of(a), shape_of(b));
  if (most < kLargeShape) return beta_share_quantile(a, b, p);
  if (least > kNormalLogShape) return normal_share_quantile(a, b, p);
  return shape_of(a) < shape_of(b) ? odds_to_share(a.lower_quantile(p) / b.mean)
                                   : odds_to_share(a.mean / b.upper_quantile(p));
}

/// The law of the bytes that samples represent; `event` allows for one more sample.
Gamma law_of(const NodeSums& sums, double event) {
  return {sums.weighted_bytes + event, root_of_squares(std::sqrt(sums.bytes_variance), event)};
}

/// The uncertain bytes of the part are a share of `total`, between these bounds.
struct Bounds {
  double least, most;
  [[nodiscard]] double held(double bytes) const { return std::clamp(bytes, least, most); }
};

Interval share_interval(const NodeSums& part, const NodeSums& rest, double total, double event,
                        double alpha) {
  const double least = share_quantile(law_of(part, 0), law_of(rest, event), alpha / 2);
  const double least_of_rest = share_quantile(law_of(rest, 0), law_of(part, event), alpha / 2);
  return {total * least, total - total * least_of_rest};
}

bool is_within(const NodeSums& part, const NodeSums& whole) {
  constexpr double kRounding = 1 + 1e-9;
  return part.samples <= whole.samples && part.certain_samples <= whole.certain_samples &&
         part.certain_bytes <= whole.certain_bytes && part.bytes_seen <= whole.bytes_seen &&
         part.weighted_bytes <= whole.weighted_bytes * kRounding &&
         part.bytes_variance <= whole.bytes_variance * kRounding && part.bytes_variance >= 0 &&
         std::isfinite(whole.weighted_bytes) && std::isfinite(whole.bytes_variance);
}

/// A part that fits into its whole, and the rest of the exact total.
struct Division {
  NodeSums part, rest;
  double total;   ///< Uncertain bytes of the whole, known exactly.
  double gap;     ///< `total` minus its estimate.
  double of_gap;  ///< The part's share of the gap.

  [[nodiscard]] Bounds bounds() const {
    return {part.bytes_seen, std::max(part.bytes_seen, total - rest.bytes_seen)};
  }
  [[nodiscard]] double value() const { return bounds().held(part.weighted_bytes + gap * of_gap); }
};

Checked<Division> divide(const NodeSums& part, const NodeSums& whole, double exact_bytes) {
  const double total = exact_bytes - whole.certain_bytes;
  if (!is_within(part, whole) || !(total >= whole.bytes_seen) || std::isinf(total)) {
    return InputError::kPart;
  }
  const double of_gap = whole.bytes_variance > 0 ? part.bytes_variance / whole.bytes_variance : 0;
  return Division{part, rest_of(part, whole), total, total - whole.weighted_bytes, of_gap};
}

/// `open` samples of the part do not count.
Checked<Estimate> known_bytes(const NodeSums& part, const NodeSums& whole, double exact_bytes,
                              double level) {
  const Checked<Division> checked = divide(part, whole, exact_bytes);
  if (!checked.has_value()) return checked.error();
  const Division& division = checked.value();
  const Bounds bounds = division.bounds();
  const double value = division.value();
  const Interval interval = share_interval(part, division.rest, division.total,
                                           whole.largest_interval, std::max(1 - level, 0x1p-53));
  const double exact = part.certain_bytes;
  return Estimate{exact + value,
                  division.rest.bytes_variance * division.of_gap,
                  {exact + std::min(value, bounds.held(interval.lo)),
                   exact + std::max(value, bounds.held(interval.hi))},
                  part.samples,
                  exact};
}

}  // namespace

Checked<Estimate> calibrated_bytes(const NodeSums& part, const NodeSums& whole, double exact_bytes,
                                   double level) {
  if (!is_confidence_level(level)) return InputError::kLevel;
  const Checked<Estimate> known = known_bytes(part, whole, exact_bytes, level);
  if (!part.has_open() || !known.has_value()) return known;
  const Checked<Estimate> most = known_bytes(part.at_most(), whole, exact_bytes, level);
  return most.has_value() ? reaching(known.value(), most.value()) : most;
}

Checked<Estimate> calibrated_bytes(const NodeSums& part, const NodeSums& whole, KnownTotal total,
                                   double level) {
  const Checked<Estimate> least =
      calibrated_bytes(part, whole, static_cast<double>(total.bytes), level);
  if (total.open == 0 || !least.has_value()) return least;
  const Checked<Estimate> most =
      calibrated_bytes(part, whole, static_cast<double>(total.bytes + total.open), level);
  return most.has_value() ? reaching(least.value(), most.value()) : most;
}

double calibrated_value(const NodeSums& part, const NodeSums& whole, double exact_bytes) {
  const Checked<Division> division = divide(part, whole, exact_bytes);
  return division.has_value() ? part.certain_bytes + division.value().value() : 0;
}

bool has_enough_to_calibrate(const NodeSums& part) { return part.samples >= kSamplesToCalibrate; }

}  // namespace geiger::estimation
