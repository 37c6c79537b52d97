#include "estimation/planning.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimation/checked.h"
#include "estimation/distributions/gamma.h"
#include "estimation/estimate.h"

namespace geiger::estimation {

double precision_of(double samples, double level) {
  if (!(samples > 0)) return std::numeric_limits<double>::infinity();
  const Gamma law{.mean = samples + 1, .deviation = std::sqrt(samples + 1)};
  return law.upper_quantile(alpha_of(level) / 2) / samples - 1;
}

std::optional<double> samples_for_precision(double precision, double level) {
  if (!is_confidence_level(level) || !(precision > 0) || std::isinf(precision)) return std::nullopt;
  // precision_of decreases with samples: bisect the logarithm.
  double low = 1e-12, high = 1e24;
  if (precision_of(high, level) > precision || precision_of(low, level) < precision) {
    return std::nullopt;
  }
  while (high > low * (1 + 1e-12)) {
    const double middle = std::sqrt(low * high);
    (precision_of(middle, level) > precision ? low : high) = middle;
  }
  return high;
}

double round_interval(double interval) {
  constexpr double kWhole = 1024;
  if (!(interval >= 1)) return 1;
  if (interval < kWhole) return std::floor(interval);
  const double quarter = std::exp2(std::floor(std::log2(interval))) / 4;
  return std::floor(interval / quarter) * quarter;
}

namespace {

bool is_question(double change, double alpha, double power) {
  return change > -1 && change != 0 && std::isfinite(change) && is_probability(alpha) &&
         is_probability(power) && power > alpha;
}

// Inclusion of one object; `missed` = 1 - pi without cancellation.
struct Inclusion {
  double pi, missed;
};

Inclusion inclusion_of(double size, double lambda) {
  return {-std::expm1(-lambda * size), std::exp(-lambda * size)};
}

}  // namespace

std::optional<double> samples_needed(double change, double alpha, double power) {
  if (!is_question(change, alpha, power)) return std::nullopt;
  const double z = upper_normal_quantile(alpha / 2) + upper_normal_quantile(1 - power);
  const double samples = z / change * (z / change) * (2 + change);
  if (!std::isfinite(samples)) return std::nullopt;
  return samples;
}

double error_of_sampled_object(double size, double interval) {
  if (size >= interval) return 0;
  return 1 / std::expm1(rate_of_interval(interval) * size);
}

double chance_to_see(double bytes, double interval) {
  if (!(bytes > 0)) return 0;
  if (!(interval > 1)) return 1;
  return -std::expm1(-rate_of_interval(interval) * bytes);
}

Expected expected(std::span<const Objects> node, double interval, bool is_pure) {
  const double t = interval > 1 ? interval : 1;
  const double lambda = rate_of_interval(t);
  Expected result;
  double bytes = 0, tried = 0, variance = 0;
  for (const Objects& objects : node) {
    if (!(objects.size > 0 && objects.count > 0)) continue;
    bytes += objects.size * objects.count;
    if (t == 1 || (objects.size >= t && !is_pure)) {
      result.certain += objects.count;
      continue;
    }
    const Inclusion inclusion = inclusion_of(objects.size, lambda);
    tried += objects.size * objects.count;
    result.samples += objects.count * inclusion.pi;
    variance += objects.count * objects.size * objects.size * inclusion.missed / inclusion.pi;
  }
  result.chance = result.certain > 0 ? 1 : chance_to_see(tried, t);
  result.relative_error = bytes > 0 ? std::sqrt(variance) / bytes : 0;
  return result;
}

namespace {

/// Normal quantiles of the tests' levels and of a power of .8, added; of a site alone with its
/// chunks the samples that it needs.
constexpr double kLatePower = 2.2 + 0.86, kAlone = 20;

}  // namespace

double seconds_to_find_leak(double leak, double others, double interval) {
  if (!(others > 0)) return kAlone * interval / leak;
  const double noise = kLatePower / leak;
  return 2 * others * interval * noise * noise;
}

double leak_found_in(double seconds, double others, double interval) {
  return std::max(kAlone * interval / seconds,
                  kLatePower * std::sqrt(2 * others * interval / seconds));
}

std::optional<double> effort_to_decide(const Growth& growth, double limit, double level,
                                       double power) {
  if (growth.lowest > limit || (growth.highest && *growth.highest < limit)) return 1;
  if (!growth.value || !growth.highest || *growth.value == limit) return std::nullopt;
  const double distance = std::abs(*growth.value - limit);
  const double reach =
      *growth.value > limit ? *growth.value - growth.lowest : *growth.highest - *growth.value;
  // The limit must be exceeded by z_power deviations; now z_alpha/2 of them are the interval's
  // reach.
  const double z = upper_normal_quantile(alpha_of(level) / 2);
  const double wanted = z > 0 ? 1 + std::max(0.0, upper_normal_quantile(1 - power)) / z : 1;
  const double effort = std::pow(wanted * reach / distance, 2);
  if (!std::isfinite(effort)) return std::nullopt;
  return std::max(1.0, effort);
}

}  // namespace geiger::estimation
