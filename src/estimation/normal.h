// The normal law, where a plan or a test of means needs it.
#pragma once

namespace geiger::estimation {

/// z with P(Z > z) = p; p in (0, 1), anything else is read as the nearest such p.
[[nodiscard]] double upper_normal_quantile(double p);

}  // namespace geiger::estimation
