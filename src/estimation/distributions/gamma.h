// The gamma law named by its mean and standard deviation, as the intervals need it.
#pragma once

namespace geiger::estimation {

/// Gamma with shape (mean / deviation)^2 and scale deviation^2 / mean. A
/// deviation of 0 is the constant `mean`; a mean of 0 is the constant 0. Both
/// finite and not negative. No function returns NaN or throws.
struct Gamma {
  double mean = 0;
  double deviation = 0;

  /// x with P(X <= x) = p, p in (0, 1).
  [[nodiscard]] double lower_quantile(double p) const;
  /// x with P(X > x) = p, p in (0, 1); keeps its digits for tiny p.
  [[nodiscard]] double upper_quantile(double p) const;
  /// P(X <= x).
  [[nodiscard]] double below(double x) const;
  /// P(X > x).
  [[nodiscard]] double above(double x) const;
};

/// x with P(X <= x) = p for scale 1. shape > 0, p in (0, 1). 0 where the quantile
/// is below the smallest double.
[[nodiscard]] double gamma_quantile(double shape, double p);

}  // namespace geiger::estimation
