// Derivation and evidence: docs/estimators.md, section 12.
#include "estimation/survival.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "estimation/normal.h"

namespace geiger::estimation {
namespace {

bool is_usable(const Lifetime& life) {
  return std::isfinite(life.length) && life.length >= 0 && std::isfinite(life.weight) &&
         life.weight > 0;
}

double largest_weight(std::span<const Lifetime> lives) {
  double largest = 0;
  for (const Lifetime& life : lives) largest = std::max(largest, life.weight);
  return largest;
}

std::vector<Lifetime> usable_by_length(std::span<const Lifetime> lifetimes) {
  std::vector<Lifetime> lives;
  std::ranges::copy_if(lifetimes, std::back_inserter(lives), is_usable);
  // In one order whatever the order given: sums of doubles depend on it.
  std::ranges::sort(lives, [](const Lifetime& a, const Lifetime& b) {
    return a.length != b.length ? a.length < b.length : a.weight < b.weight;
  });
  return lives;
}

// Limits of S whose log(-log S) is normal: they stay within (0, 1), which those of S
// itself do not for few samples. `variance` is that of log S.
Interval band_of(double alive, double variance, double z) {
  if (!(alive < 1)) return {alive, 1};
  if (!(alive > 0)) return {0, 0};
  const double logarithm = std::log(alive);
  const double reach = z * std::sqrt(variance) / -logarithm;
  // Around the value even where rounding is all there is.
  return {std::min(alive, std::exp(logarithm * std::exp(reach))),
          std::max(alive, std::exp(logarithm * std::exp(-reach)))};
}

// Nothing freed among samples worth n of equal weight: S^n is at least alpha / 2.
Interval band_without_frees(double alpha, std::span<const Lifetime> lives) {
  if (lives.empty()) return {0, 1};
  double sum = 0, squares = 0;
  for (const Lifetime& life : lives) {
    sum += life.weight;
    squares += life.weight * life.weight;
  }
  return {std::pow(alpha / 2, squares / sum / sum), 1};
}

// Weight of each life and all that are longer. Added from the longest down, so that
// what is at risk at the end is no small difference of large sums.
std::vector<double> weights_from(std::span<const Lifetime> lives) {
  std::vector<double> sums(lives.size() + 1, 0.0);
  for (std::size_t i = lives.size(); i-- > 0;) sums[i] = sums[i + 1] + lives[i].weight;
  return sums;
}

// What was freed at the length of life `first`.
struct Freed {
  double weight = 0, squares = 0;
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
    freed.squares += life.weight * life.weight;
  }
  freed.is_all &= freed.end == lives.size();
  return freed;
}

}  // namespace

SurvivalCurve::SurvivalCurve(std::span<const Lifetime> lifetimes, double level) {
  std::vector<Lifetime> lives = usable_by_length(lifetimes);
  // Only ratios of weights matter; the largest as the unit keeps squares finite.
  const double unit = largest_weight(lives);
  for (Lifetime& life : lives) life.weight /= unit;
  const std::vector<double> at_risk = weights_from(lives);
  const double alpha = alpha_of(level);
  const double z = upper_normal_quantile(alpha / 2);
  start_.at_risk = std::min(at_risk.front() * unit, kLargestSum);
  start_.band = band_without_frees(alpha, lives);
  SurvivalStep step = start_;
  double variance = 0;  // Of the logarithm of the share alive.
  for (std::size_t i = 0; i < lives.size();) {
    const Freed freed = freed_from(lives, i);
    step.length = lives[i].length;
    const double here = at_risk[i];
    step.at_risk = std::min(here * unit, kLargestSum);
    i = freed.end;
    if (!(freed.weight > 0)) continue;
    const double left = freed.is_all ? 0 : std::max(here - freed.weight, 0.0);
    step.alive *= left / here;
    if (step.alive > 0) {
      variance += freed.squares / here / left;
      step.band = band_of(step.alive, variance, z);
    } else {
      step.band.lo = 0;  // And nothing above the limit before: the curve never rises.
    }
    steps_.push_back(step);
  }
}

SurvivalStep SurvivalCurve::at(double length) const {
  const auto next = std::ranges::upper_bound(steps_, length, {}, &SurvivalStep::length);
  return next == steps_.begin() ? start_ : *(next - 1);
}

SurvivalCurve::Quantile SurvivalCurve::quantile(double p) const {
  Quantile quantile;
  const double wanted = 1 - p;
  for (const SurvivalStep& step : steps_) {
    if (!quantile.lo && step.band.lo <= wanted) quantile.lo = step.length;
    if (!quantile.value && step.alive <= wanted) quantile.value = step.length;
    if (!quantile.hi && step.band.hi <= wanted) quantile.hi = step.length;
  }
  return quantile;
}

}  // namespace geiger::estimation
