// Quantiles and probabilities of the standard normal law.
#pragma once

namespace geiger::estimation {

/// z with P(Z > z) = p; p in (0, 1), anything else is read as the nearest such p.
[[nodiscard]] double upper_normal_quantile(double p);

/// P(Z <= z); keeps its digits for z far below 0.
[[nodiscard]] double normal_below(double z);

}  // namespace geiger::estimation
