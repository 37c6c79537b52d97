#include "research/intervals.h"

#include <algorithm>
#include <cmath>

#include "estimation/distributions/gamma.h"
#include "estimation/distributions/negative_binomial.h"

namespace geiger::research {

using estimation::NegativeBinomial;

estimation::Checked<double> normal_quantile(double level) {
  if (!estimation::is_confidence_level(level)) return estimation::InputError::kLevel;
  return estimation::upper_normal_quantile((1 - level) / 2);
}

estimation::Checked<estimation::Interval> normal_interval(double value, double variance,
                                                          double level, double least) {
  const estimation::Checked<double> z = normal_quantile(level);
  if (!z.has_value()) return z.error();
  const bool is_sound = value >= 0 && variance >= 0 && std::isfinite(value + variance);
  if (!is_sound) return estimation::InputError::kSize;
  const double half = z.value() * std::sqrt(variance);
  return estimation::Interval{std::min(value, std::max(least, value - half)), value + half};
}

estimation::Checked<estimation::Interval> camp_paulson_interval(std::uint64_t samples,
                                                                double untried, double interval,
                                                                double level) {
  if (!estimation::is_confidence_level(level)) return estimation::InputError::kLevel;
  if (!(untried >= 0 && std::isfinite(untried))) return estimation::InputError::kSize;
  const auto law = NegativeBinomial::of_interval(samples, interval);
  if (!law.has_value()) return law.error();
  const auto next = NegativeBinomial::of_interval(samples + 1, interval);
  if (!next.has_value()) return next.error();
  const double alpha = 1 - level;
  const double lower = law.value().camp_paulson_root(alpha / 2).value();
  const double target = std::min(1 - alpha / 2, 1 - 0x1p-53);
  const double upper = next.value().camp_paulson_root(target).value();
  return estimation::Interval{std::max(0.0, lower) + untried, std::max(0.0, upper) + untried};
}

estimation::Checked<estimation::Interval> same_size_objects_interval(std::uint64_t samples,
                                                                     Bytes size, double lambda,
                                                                     double level) {
  if (!estimation::is_confidence_level(level)) return estimation::InputError::kLevel;
  if (size == 0) return estimation::InputError::kSize;
  const double rate = lambda * static_cast<double>(size);
  const auto next = NegativeBinomial::make(samples + 1, rate);
  if (!next.has_value()) return next.error();
  const double alpha = 1 - level;
  const auto seen = static_cast<double>(samples);
  const double upper = seen + next.value().failures_at_upper(alpha / 2).value() + 1;
  if (samples == 0) return estimation::Interval{0, upper};
  const auto law = NegativeBinomial::make(samples, rate);
  return estimation::Interval{seen + law.value().failures_at(alpha / 2).value() + 1, upper};
}

}  // namespace geiger::research
