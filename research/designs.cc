#include "research/designs.h"

#include <cmath>
#include <random>

namespace geiger::research {

namespace {

/// No object is larger, and what is not is a number for any library.
constexpr Bytes kLargestObject = Bytes{1} << 62;

}  // namespace

estimation::Checked<Drawn> Drawn::make(Bytes tried, std::uint64_t offset, double interval) {
  if (offset >= tried || tried > kLargestObject) return estimation::InputError::kSize;
  if (!(interval >= 1) || std::isinf(interval)) return estimation::InputError::kInterval;
  return Drawn(tried, offset, interval);
}

std::uint64_t Drawn::draws(std::uint64_t random) const {
  const std::uint64_t tail = tried_ - offset_ - 1;
  if (tail == 0) return 1;
  std::mt19937_64 generator(random);
  std::binomial_distribution<std::int64_t> more(static_cast<std::int64_t>(tail), 1 / interval_);
  return 1 + static_cast<std::uint64_t>(more(generator));
}

void DesignSums::add(const Drawn& sample, Bytes usable_bytes, std::uint64_t random) {
  const double t = sample.interval();
  const double k = sample.tried();
  const auto a = static_cast<double>(usable_bytes);
  const double weight = sample.weight();
  const double weight_variance = t * (t - 1);  // q/p^2, per sample.
  const std::uint64_t drawn_here = sample.draws(random);
  const double drawn_weight = t * static_cast<double>(drawn_here);
  const double drawn_variance = (t - 1) * drawn_weight;
  const double rounded = std::round(weight / k);
  ++samples;
  draws += drawn_here;
  untried += sample.untried();
  usable_seen += a;
  failed_trials.add(weight, weight_variance);
  failed_trials_objects.add(weight / k, weight_variance / k / k);
  usable.add(weight / k * a, weight_variance * (a / k) * (a / k));
  drawn.add(drawn_weight, drawn_variance);
  drawn_objects.add(drawn_weight / k, drawn_variance / k / k);
  rounded_bytes += k * rounded;
  rounded_objects += rounded;
  naive_bytes += t;
  naive_objects += t / k;
}

void DesignSums::add_certain(Bytes size, Bytes usable_bytes) {
  const auto z = static_cast<double>(size);
  certain_bytes += z;
  certain_usable += static_cast<double>(usable_bytes);
  certain_objects += 1;
  failed_trials.add(z, 0);
  failed_trials_objects.add(1, 0);
  usable.add(static_cast<double>(usable_bytes), 0);
  drawn.add(z, 0);
  drawn_objects.add(1, 0);
  rounded_bytes += z;
  rounded_objects += 1;
  naive_bytes += z;
  naive_objects += 1;
}

void DesignSums::merge(const DesignSums& other) {
  samples += other.samples;
  draws += other.draws;
  untried += other.untried;
  certain_bytes += other.certain_bytes;
  certain_usable += other.certain_usable;
  certain_objects += other.certain_objects;
  usable_seen += other.usable_seen;
  failed_trials.merge(other.failed_trials);
  failed_trials_objects.merge(other.failed_trials_objects);
  usable.merge(other.usable);
  drawn.merge(other.drawn);
  drawn_objects.merge(other.drawn_objects);
  rounded_bytes += other.rounded_bytes;
  rounded_objects += other.rounded_objects;
  naive_bytes += other.naive_bytes;
  naive_objects += other.naive_objects;
}

estimation::Checked<AverageSizeScaling> scale_by_average_size(std::uint64_t samples, double bytes,
                                                              double interval) {
  if (samples == 0) return AverageSizeScaling{};
  if (!(interval >= 1) || std::isinf(interval)) return estimation::InputError::kInterval;
  const auto s = static_cast<double>(samples);
  if (!(bytes >= s) || std::isinf(bytes)) return estimation::InputError::kSize;
  const double scale = -1 / std::expm1(-bytes / s / interval);
  return AverageSizeScaling{bytes * scale, s * scale};
}

}  // namespace geiger::research
