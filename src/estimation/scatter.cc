#include "estimation/scatter.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "estimation/distributions/quiet.h"

namespace geiger::estimation {

namespace {

/// Ignores the range of possible values.
Estimate student(std::span<const double> figures, double level) {
  GEIGER_CHECK(!figures.empty());
  const auto count = static_cast<double>(figures.size());
  Estimate out;
  out.samples = figures.size();
  out.value = std::accumulate(figures.begin(), figures.end(), 0.0) / count;
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  out.interval = {-kUnknown, kUnknown};
  if (figures.size() < 2) return out;
  double squares = 0;
  for (const double figure : figures) squares += (figure - out.value) * (figure - out.value);
  out.variance = squares / (count - 1) / count;
  const boost::math::students_t_distribution<double, Quiet> law(count - 1);
  const double reach = boost::math::quantile(complement(law, alpha_of(level) / 2));
  const double half = reach * std::sqrt(out.variance);
  out.interval = {out.value - half, out.value + half};
  return out;
}

}  // namespace

Estimate mean_of(std::span<const double> figures, double level) {
  Estimate out = student(figures, level);
  out.interval.lo = std::max(out.interval.lo, 0.0);
  return out;
}

Estimate ratio_of_pairs(std::span<const double> before, std::span<const double> after,
                        double level) {
  GEIGER_CHECK(before.size() == after.size());
  std::vector<double> logarithms;
  for (std::size_t i = 0; i < before.size(); ++i) {
    logarithms.push_back(std::log(after[i] / before[i]));
  }
  Estimate out = student(logarithms, level);
  out.value = std::exp(out.value);
  out.variance *= out.value * out.value;
  out.interval = {std::exp(out.interval.lo), std::exp(out.interval.hi)};
  return out;
}

// Derivation and evidence: docs/internals/estimators.md, section "Leak suspects".

namespace {

using Student = boost::math::students_t_distribution<double, Quiet>;

/// Such changes cannot overflow when squared.
bool is_usable(const Change& change) {
  return change.length > 0 && change.length < kLargestSum && std::abs(change.value) < kLargestSum;
}

struct Totals {
  double length = 0, value = 0;
  std::size_t count = 0;
};

Totals totals_of(std::span<const Change> changes) {
  Totals totals;
  for (const Change& change : changes) {
    if (!is_usable(change)) continue;
    totals.length += change.length;
    totals.value += change.value;
    ++totals.count;
  }
  return totals;
}

/// Variance per unit of length, around the common rate.
double scatter_of(std::span<const Change> changes, const Totals& totals) {
  const double rate = totals.value / totals.length;
  double squares = 0;
  for (const Change& change : changes) {
    if (!is_usable(change)) continue;
    const double residue = change.value - rate * change.length;
    squares += residue * residue / change.length;
  }
  return squares / static_cast<double>(totals.count - 1);
}

/// Half an interval; practically unbounded if NaN.
double reach_of(double error, double quantile) {
  if (!(error > 0)) return 0;
  const double reach = error * quantile;
  return reach < kLargestSum ? reach : kLargestSum;
}

}  // namespace

Trend trend_of(std::span<const Change> changes, double level) {
  const Totals totals = totals_of(changes);
  if (totals.count < 2) return {totals.value, {-kLargestSum, kLargestSum}, 1};
  const double error = std::sqrt(scatter_of(changes, totals) * totals.length);
  const Student law(static_cast<double>(totals.count - 1));
  const double reach = reach_of(error, quantile(complement(law, alpha_of(level) / 2)));
  Trend trend{totals.value, {totals.value - reach, totals.value + reach}, 1};
  if (!(totals.value > 0)) return trend;
  trend.p_value = error > 0 ? cdf(complement(law, std::min(totals.value / error, kLargestSum))) : 0;
  return trend;
}

double steady_growth_p(std::span<const Change> changes) {
  constexpr double kAnyLevel = 0.5;  // A p-value has none.
  const double with_all = trend_of(changes, kAnyLevel).p_value;
  std::vector<Change> rest(changes.begin(), changes.end());
  std::erase_if(rest, [](const Change& change) { return !is_usable(change); });
  if (rest.empty()) return with_all;
  rest.erase(std::ranges::max_element(rest, {}, &Change::value));
  return std::max(with_all, trend_of(rest, kAnyLevel).p_value);
}

}  // namespace geiger::estimation
