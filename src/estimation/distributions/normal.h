// Quantiles and probabilities of the standard normal law.
#pragma once

namespace geiger::estimation {

/// z with P(Z > z) = p; p in (0, 1), other values count as the nearest such p.
[[nodiscard]] double upper_normal_quantile(double p);

/// P(Z <= z); precise for z far below 0.
[[nodiscard]] double normal_below(double z);

}  // namespace geiger::estimation
