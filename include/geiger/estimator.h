// Estimates from samples: how many bytes, or trials, and how many objects there were, each with its
// confidence interval.
//
// For what BernoulliTrial and the samplers (geiger/sampling, arenas) select, with the interval of
// geiger's own reports. docs/internals/estimators.md derives the formulas and has their letters;
// sections 3 to 5. In short: a sample of z bytes drawn with the rate lambda was there with the
// probability pi = 1 - e^(-lambda z), so it stands for 1/pi objects and z/pi bytes. A normal
// interval, the sum
// +- 1.96 standard deviations, covers the truth in only 39 to 93 % of cases with one to ten
// samples, and without samples it has no width.
//
// Header only, C++17, libm.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace geiger::sampling {

/// A value with its confidence interval: print them together.
struct Estimate {
  double value = 0;
  double lowest = 0, highest = 0;  ///< Contains `value`.
  std::uint64_t samples = 0;       ///< Drawn by chance; certain objects add no error.
};

namespace estimator {

/// The law of a sum of weighted rare events: a gamma law by its mean and deviation (section 5).
struct Law {
  double mean, deviation;

  /// The value that is exceeded with probability `p`, in (0, 1).
  [[nodiscard]] double exceeded_with(double p) const {
    if (!(deviation > 0)) return std::max(mean, 0.0);
    const double shape = mean / deviation * (mean / deviation);
    constexpr double kNormal = 1e6;  // From here on the cube root is normal.
    if (shape > kNormal)
      return mean * cube(1 - 1 / (9 * shape) + normal(p) / (3 * std::sqrt(shape)));
    double low = 0, high = 1;
    for (; above(shape, high) > p; high *= 2) low = high;
    for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
      const double middle = low / 2 + high / 2;
      (above(shape, middle) > p ? low : high) = middle;
    }
    return low * (deviation * (deviation / mean));
  }

 private:
  static double cube(double x) { return x * x * x; }

  static double normal(double p) {
    double low = -40, high = 40;
    for (int i = 0; i < 64; ++i) {
      const double middle = low / 2 + high / 2;
      (std::erfc(middle / std::sqrt(2.0)) / 2 > p ? low : high) = middle;
    }
    return low;
  }

  // The incomplete gamma function Q(a, x): the series of P below a + 1, Lentz's continued fraction
  // above (Numerical Recipes, 6.2).
  static double above(double a, double x) {
    const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
    if (x < a + 1) {
      double term = 1 / a, sum = term;
      for (double n = 1; term > sum * 1e-16; ++n) sum += term *= x / (a + n);
      return 1 - front * sum;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
    for (double n = 1; n < 1e6; ++n) {
      b += 2;
      d = 1 / (n * (a - n) * d + b);
      c = b + n * (a - n) / c;
      fraction *= c * d;
      if (std::abs(c * d - 1) < 1e-15) break;
    }
    return front * fraction;
  }
};

}  // namespace estimator

/// Adds up samples. Estimators of threads, arenas or runs are merged, and then asked; intervals
/// must never be added.
///
/// Threads: one at a time. Signals: its functions may be called in handlers where libm may. Fork:
/// nothing to do. Allocates: never.
class Estimator {
 public:
  /// Adds `count` objects of `size` bytes or trials that were sampled with the rate `lambda`, which
  /// is ArenaSample::lambda, rate_of(T) or rate_of_probability(p). An object without bytes counts
  /// as drawn like one of 1.
  void add(std::uint64_t size, double lambda, std::uint64_t count = 1) {
    if (count == 0 || !(lambda > 0)) return;
    const auto z = static_cast<double>(size), n = static_cast<double>(count);
    const double tried = std::max(z, 1.0);
    const double pi = -std::expm1(-lambda * tried), missed = std::exp(-lambda * tried);
    if (std::isinf(lambda)) return add_certain(size, count);
    samples_ += count;
    bytes_.seen += n * z;
    bytes_.weighted += n * z / pi;
    bytes_.variance += n * (z / pi) * (z * missed / pi);
    objects_.seen += n;
    objects_.weighted += n / pi;
    objects_.variance += n * missed / pi / pi;
    could_have_sampled(lambda);
    heaviest_ = std::max(heaviest_, 1 / pi);
    smallest_ = std::min(smallest_, tried);
    largest_ = std::max(largest_, tried);
  }

  /// Adds `count` objects that are recorded whenever they exist: Verdict::Kind::kCertain,
  /// ArenaSample::is_certain.
  void add_certain(std::uint64_t size, std::uint64_t count = 1) {
    bytes_.certain += static_cast<double>(size) * static_cast<double>(count);
    objects_.certain += static_cast<double>(count);
  }

  /// Says that objects could have been sampled with the rate `lambda`, even if none was. Call it
  /// for every rate in force: without it nothing that left no sample is accounted for.
  void could_have_sampled(double lambda) {
    if (lambda > 0) interval_ = std::max(interval_, 1 / lambda);
  }

  void merge(const Estimator& other) {
    samples_ += other.samples_;
    bytes_.merge(other.bytes_);
    objects_.merge(other.objects_);
    interval_ = std::max(interval_, other.interval_);
    heaviest_ = std::max(heaviest_, other.heaviest_);
    smallest_ = std::min(smallest_, other.smallest_);
    largest_ = std::max(largest_, other.largest_);
  }

  /// The bytes or trials of all objects; `level` in (0, 1).
  [[nodiscard]] Estimate bytes(double level = 0.95) const {
    return estimate(bytes_, interval_, level);
  }

  /// The number of objects, given the sizes seen (section 5.2): where the sampled sizes are within
  /// a factor of 2, unseen objects are assumed to be no smaller; else, down to 8 bytes, not to be
  /// more per factor of size. Fewer than four samples of sizes that differ, or none, say nothing:
  /// `highest` then assumes one byte for each object.
  [[nodiscard]] Estimate objects(double level = 0.95) const {
    return estimate(objects_, next_object(), level);
  }

 private:
  struct Sums {
    double certain = 0, seen = 0, weighted = 0, variance = 0;

    void merge(const Sums& other) {
      certain += other.certain;
      seen += other.seen;
      weighted += other.weighted;
      variance += other.variance;
    }
  };

  // `event`: what the next object that left no sample may add.
  [[nodiscard]] Estimate estimate(const Sums& sums, double event, double level) const {
    const double each = std::clamp((1 - level) / 2, 0x1p-54, 0.5);
    const estimator::Law lower{sums.weighted, std::sqrt(sums.variance)};
    const estimator::Law upper{std::max(sums.weighted - sums.seen, 0.0) + event,
                               std::sqrt(sums.variance + event * event)};
    const double value = sums.certain + sums.weighted;
    const double lowest = sums.certain + std::max(sums.seen, lower.exceeded_with(1 - each));
    const double highest = sums.certain + sums.seen + upper.exceeded_with(each);
    return {value, std::min(lowest, value), std::max(highest, value), samples_};
  }

  [[nodiscard]] double next_object() const {
    const bool is_wide = largest_ >= 2 * smallest_;
    if (samples_ == 0 || (is_wide && samples_ < 4)) return interval_;
    const double next = std::max(heaviest_, -1 / std::expm1(-smallest_ / interval_));
    if (!is_wide) return next;
    const double smaller_ones = heaviest_ * (1 + std::log(std::max(smallest_, 8.0) / 8));
    return std::max(next, std::min(smaller_ones, interval_));
  }

  Sums bytes_, objects_;
  std::uint64_t samples_ = 0;
  double interval_ = 0;  ///< E: the largest 1/lambda.
  double heaviest_ = 0;  ///< c: the largest 1/pi.
  double smallest_ = HUGE_VAL, largest_ = 0;
};

}  // namespace geiger::sampling
