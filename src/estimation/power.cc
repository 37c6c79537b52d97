#include "estimation/power.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "estimation/checked.h"
#include "estimation/distributions/normal.h"

namespace geiger::estimation {
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

// The variance of the difference of two means of `runs` runs, relative to the square
// of the before side's bytes.
double relative_variance(const RunPlan& plan, double runs) {
  const double after = 1 + plan.change;
  const double sampling = (1 + after) / plan.samples_per_run;
  const double between = plan.run_deviation * plan.run_deviation * (1 + after * after);
  return (sampling + between) / runs;
}

// Two means whose variance rests on 2 runs + 2 degrees of freedom.
bool suffices(const RunPlan& plan, double runs) {
  const boost::math::students_t law(2 * runs + 2);
  const double deviations = boost::math::quantile(complement(law, plan.alpha / 2)) +
                            boost::math::quantile(complement(law, 1 - plan.power));
  return deviations * deviations * relative_variance(plan, runs) <= plan.change * plan.change;
}

constexpr std::uint64_t kMostRuns = 1'000'000;

// `suffices` is monotone.
std::optional<std::uint64_t> least_runs(const RunPlan& plan) {
  if (!suffices(plan, kMostRuns)) return std::nullopt;
  std::uint64_t too_few = 1, enough = kMostRuns;
  while (enough - too_few > 1) {
    const std::uint64_t middle = (too_few + enough) / 2;
    (suffices(plan, static_cast<double>(middle)) ? enough : too_few) = middle;
  }
  return enough;
}

}  // namespace

std::optional<double> samples_needed(double change, double alpha, double power) {
  if (!is_question(change, alpha, power)) return std::nullopt;
  const double z = upper_normal_quantile(alpha / 2) + upper_normal_quantile(1 - power);
  const double samples = z / change * (z / change) * (2 + change);
  if (!std::isfinite(samples)) return std::nullopt;
  return samples;
}

std::optional<double> interval_to_detect(double bytes, double change, double alpha, double power) {
  const std::optional<double> samples = samples_needed(change, alpha, power);
  if (!samples || !(bytes >= *samples) || !std::isfinite(bytes)) return std::nullopt;
  return bytes / *samples;
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

std::optional<double> interval_for_error(double bytes, double error) {
  const double interval = bytes * error * error;
  if (!(error > 0 && bytes > 0) || !std::isfinite(interval)) return std::nullopt;
  return std::max(interval, 1.0);
}

std::optional<std::uint64_t> runs_needed(const RunPlan& plan) {
  const bool is_known =
      plan.samples_per_run > 0 && plan.run_deviation >= 0 && std::isfinite(plan.run_deviation);
  const auto samples = samples_needed(plan.change, plan.alpha, plan.power);
  if (!is_known || !samples) return std::nullopt;
  if (plan.run_deviation > 0) return least_runs(plan);
  const double runs = std::ceil(*samples / plan.samples_per_run);
  if (!(runs <= static_cast<double>(kMostRuns))) return std::nullopt;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(runs));
}

std::optional<double> effort_to_decide(const Growth& growth, double limit, double level,
                                       double power) {
  if (growth.lowest > limit || (growth.highest && *growth.highest < limit)) return 1;
  if (!growth.value || !growth.highest || *growth.value == limit) return std::nullopt;
  const double distance = std::abs(*growth.value - limit);
  const double reach =
      *growth.value > limit ? *growth.value - growth.lowest : *growth.highest - *growth.value;
  // The limit must be passed by z_power deviations, where now z_alpha/2 of them make
  // the reach of the interval.
  const double z = upper_normal_quantile(alpha_of(level) / 2);
  const double wanted = z > 0 ? 1 + std::max(0.0, upper_normal_quantile(1 - power)) / z : 1;
  const double effort = std::pow(wanted * reach / distance, 2);
  if (!std::isfinite(effort)) return std::nullopt;
  return std::max(1.0, effort);
}

}  // namespace geiger::estimation
