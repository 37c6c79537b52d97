#include "estimation/repeats.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
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

}  // namespace geiger::estimation
