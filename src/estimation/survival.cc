// Derivation and evidence: docs/internals/estimators.md, section 12.
#include "estimation/survival.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.h"
#include "estimation/distributions/gamma.h"
#include "estimation/estimate.h"

namespace geiger::estimation {
namespace {

bool is_usable(const Lifetime& life) {
  return std::isfinite(life.length) && life.length >= 0 && std::isfinite(life.weight) &&
         life.weight > 0;
}

double largest_weight(std::span<const Lifetime> lives, bool is_by_chance) {
  double largest = 0;
  for (const Lifetime& life : lives) {
    if (!is_by_chance || life.missed > 0) largest = std::max(largest, life.weight);
  }
  return largest;
}

std::vector<Lifetime> usable_by_length(std::span<const Lifetime> lifetimes) {
  std::vector<Lifetime> lives;
  std::ranges::copy_if(lifetimes, std::back_inserter(lives), is_usable);
  // In a canonical order, because sums of doubles depend on the order.
  std::ranges::sort(lives, [](const Lifetime& a, const Lifetime& b) {
    return a.length != b.length ? a.length < b.length : a.weight < b.weight;
  });
  return lives;
}

double missed_of(const Lifetime& life) {
  return life.missed < 1 ? std::max(life.missed, 0.0) : 1.0;
}

// Sums over each life and all longer ones. Added from the longest down, so that the weight at risk
// at the end is not a small difference of large sums.
template <typename Value>
std::vector<double> sums_from(std::span<const Lifetime> lives, const Value& value_of) {
  std::vector<double> sums(lives.size() + 1, 0.0);
  for (std::size_t i = lives.size(); i-- > 0;) sums[i] = sums[i + 1] + value_of(lives[i]);
  return sums;
}

double weight_of_life(const Lifetime& life) { return life.weight; }

/// The contribution of a life to the variance of a sum of weights.
double square_of(const Lifetime& life) { return missed_of(life) * life.weight * life.weight; }

// The frees at the length of life `first`.
struct Freed {
  double weight = 0;
  std::size_t end = 0;  ///< The first life that is longer.
  bool is_all = true;   ///< No life is longer and none of this length was censored.
};

Freed freed_from(std::span<const Lifetime> lives, std::size_t first) {
  Freed freed;
  for (freed.end = first; freed.end < lives.size(); ++freed.end) {
    const Lifetime& life = lives[freed.end];
    if (life.length != lives[first].length) break;
    freed.is_all &= life.is_freed;
    if (!life.is_freed) continue;
    freed.weight += life.weight;
  }
  freed.is_all &= freed.end == lives.size();
  return freed;
}

// The variance of -log S, by two formulas that agree for equal weights.
//
// Sampling's own: a small additional weight on one sample changes -log S by its influence, which
// grows while the sample is at risk and is reduced by 1/left at the sample's own free. The sum of
// their squares is correct even if lives and weights are correlated, as they are. But it fails if
// one sample was nearly all that was left: its effect on S is not small.
//
// Greenwood's: the variance of each step given the weight at risk. It grows without bound there, as
// it should, but ignores weights. So the larger of the two is used.
class CurveVariance {
 public:
  explicit CurveVariance(std::span<const Lifetime> lives)
      : lives_(lives), squares_(sums_from(lives, square_of)) {}

  /// Passes the lives [first, freed.end), all of one length; returns the variance just after it.
  double pass(std::size_t first, const Freed& freed, double here, double left) {
    if (freed.weight > 0 && left > 0) gained_ += freed.weight / here / left;
    for (std::size_t i = first; i < freed.end; ++i) {
      const double own = lives_[i].is_freed && left > 0 ? 1 / left : 0;
      answered_ += square_of(lives_[i]) * (gained_ - own) * (gained_ - own);
      if (lives_[i].is_freed && left > 0) greenwood_ += square_of(lives_[i]) / here / left;
    }
    const double larger = std::max(answered_ + gained_ * gained_ * squares_[freed.end], greenwood_);
    return larger < kLargestSum ? larger : kLargestSum;
  }

 private:
  std::span<const Lifetime> lives_;
  std::vector<double> squares_;
  double gained_ = 0;
  double answered_ = 0;  ///< Of samples no longer at risk, whose influence is final.
  double greenwood_ = 0;
};

// The typical weight of the samples, from the sum of squares.
double typical_weight(std::span<const Lifetime> lives) {
  const double sum = sums_from(lives, weight_of_life).front();
  return sum > 0 ? sums_from(lives, square_of).front() / sum : 0;
}

double usable_weight(double weight) { return weight > 0 ? std::min(weight, kLargestSum) : 0; }

}  // namespace

SurvivalCurve::SurvivalCurve(std::span<const Lifetime> lifetimes, const SurvivalDesign& design)
    : alpha_(alpha_of(design.level)) {
  std::vector<Lifetime> lives = usable_by_length(lifetimes);
  if (lives.empty()) return;
  longest_ = lives.back().length;
  // Only ratios of weights matter; the largest as the unit keeps squares finite.
  unit_ = largest_weight(lives, false);
  for (Lifetime& life : lives) life.weight /= unit_;
  squares_ = sums_from(lives, square_of).front();
  next_ = design.next ? usable_weight(*design.next) / unit_ : typical_weight(lives);
  if (design.next)
    unseen_ = std::max(next_ - largest_weight(lives, true), 0.0) * std::log(2 / alpha_);
  const std::vector<double> at_risk = sums_from(lives, weight_of_life);
  start_.at_risk = start_.later = at_risk.front();
  Point point = start_;
  CurveVariance variance(lives);
  for (std::size_t i = 0; i < lives.size();) {
    const Freed freed = freed_from(lives, i);
    point.length = lives[i].length;
    point.at_risk = at_risk[i];
    const double left = freed.is_all ? 0 : std::max(point.at_risk - freed.weight, 0.0);
    point.variance = variance.pass(i, freed, point.at_risk, left);
    point.later = at_risk[freed.end];
    if (freed.weight > 0) {
      point.alive *= left / point.at_risk;
      frees_.push_back(points_.size());
    }
    points_.push_back(point);
    i = freed.end;
  }
}

// A gamma interval for a weighted sum of rare events (Fay and Feuer), as that of a
// node's bytes: the next event is one more object among those that live longer.
Interval SurvivalCurve::band_of(const Point& point) const {
  const double sum = std::max(-std::log(point.alive), 0.0);
  const double deviation = std::sqrt(point.variance);
  const Gamma fewer{sum, deviation};
  const double hi = sum > 0 ? std::exp(-fewer.lower_quantile(alpha_ / 2)) : 1;
  Interval band{0, std::clamp(hi, point.alive, 1.0)};
  if (!(point.later > 0)) return band;
  const double event = std::min(next_ / point.later, kLargestSum);
  const Gamma more{sum + event, root_of_squares(deviation, event)};
  band.lo = std::min(std::exp(-more.upper_quantile(alpha_ / 2)), point.alive);
  return band;
}

// The upper limit `hi` widened by what unseen objects would add. The two errors are independent:
// their logarithms add in squares.
double SurvivalCurve::with_unseen(double hi, double alive) const {
  if (!(unseen_ > 0)) return hi;
  const double most = (alive * start_.at_risk + unseen_) / (start_.at_risk + unseen_);
  if (!(alive > 0)) return std::max(hi, most);
  const double up = root_of_squares(std::log(hi / alive), std::log(most / alive));
  return std::min(alive * std::exp(up), 1.0);
}

SurvivalStep SurvivalCurve::with_band(const Point& point) const {
  SurvivalStep step{
      point.length, point.alive, {0, 1}, std::min(point.at_risk * unit_, kLargestSum)};
  if (is_exact()) {
    step.band = {point.alive, point.alive};
    return step;
  }
  if (point.alive > 0) {
    step.band = band_of(point);
  } else if (!points_.empty()) {
    // Everything at risk was freed: the missed part is at most the detection limit.
    const Point& before = points_.size() > 1 ? points_[points_.size() - 2] : start_;
    const double missed = next_ * std::log(2 / alpha_) / point.at_risk;
    step.band.hi = band_of(before).hi * std::min(missed, 1.0);
  }
  step.band.hi = with_unseen(step.band.hi, point.alive);
  return step;
}

SurvivalStep SurvivalCurve::step(std::size_t i) const {
  GEIGER_CHECK(i < frees_.size());
  return with_band(points_[frees_[i]]);
}

SurvivalStep SurvivalCurve::at(double length) const {
  const auto next = std::ranges::upper_bound(points_, length, {}, &Point::length);
  return with_band(next == points_.begin() ? start_ : *(next - 1));
}

SurvivalCurve::Quantile SurvivalCurve::quantile(double p) const {
  const double wanted = 1 - p;
  const auto length_of = [&](auto place) -> std::optional<double> {
    if (place == points_.end()) return std::nullopt;
    return place->length;
  };
  // Except for rounding, the limits fall with the curve, so their crossings are on either side of
  // the curve's own.
  const auto value = std::ranges::partition_point(
      points_, [&](const Point& point) { return point.alive > wanted; });
  const auto is_above = [&](const Point& point) { return with_band(point).band.lo > wanted; };
  const auto lo = std::partition_point(points_.begin(), value, is_above);
  const auto hi = std::partition_point(
      value, points_.end(), [&](const Point& point) { return with_band(point).band.hi > wanted; });
  // With so few samples the first free might have come at once.
  const bool is_open = !points_.empty() && !is_above(start_);
  return {length_of(value), is_open ? std::optional<double>(0) : length_of(lo), length_of(hi)};
}

}  // namespace geiger::estimation
