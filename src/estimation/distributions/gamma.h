// The normal and the gamma law.
#pragma once

namespace geiger::estimation {

// Quantiles and probabilities of the standard normal law.

/// z with P(Z > z) = p; p in (0, 1), other values count as the nearest such p.
[[nodiscard]] double upper_normal_quantile(double p);

/// P(Z <= z); precise for z far below 0.
[[nodiscard]] double normal_below(double z);

// The gamma law, parameterised by mean and standard deviation, as the intervals need it.

/// Above the larger shape the law equals its mean to the last digit of a double; below the smaller
/// one all but less than 1e-26 of its mass is at 0 (the rest is far out).
inline constexpr double kConstantShape = 1e30;
inline constexpr double kVanishingShape = 1e-30;

/// From this shape on the cube root of a gamma variable is normal to all relevant digits, and so is
/// the difference of two (Wilson and Hilferty 1931: relative error of a 95 % quantile 1.5e-11 at
/// shape 1e6, falling with shape^1.5), while the incomplete gamma function takes up to a
/// millisecond and returns noise.
inline constexpr double kNormalShape = 1e7;

/// Gamma with shape (mean / deviation)^2 and scale deviation^2 / mean. A
/// deviation of 0 is the constant `mean`; a mean of 0 is the constant 0. Both must be finite and
/// not negative. No function returns NaN or throws.
struct Gamma {
  double mean = 0;
  double deviation = 0;

  /// x with P(X <= x) = p, p in (0, 1).
  [[nodiscard]] double lower_quantile(double p) const;
  /// x with P(X > x) = p, p in (0, 1); precise for tiny p.
  [[nodiscard]] double upper_quantile(double p) const;
  /// P(X <= x).
  [[nodiscard]] double below(double x) const;
  /// P(X > x).
  [[nodiscard]] double above(double x) const;
};

/// x with P(X <= x) = p for scale 1. shape > 0, p in (0, 1). 0 if the quantile is below the
/// smallest double.
[[nodiscard]] double gamma_quantile(double shape, double p);

}  // namespace geiger::estimation
