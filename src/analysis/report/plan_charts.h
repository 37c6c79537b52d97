// The two pictures of a plan, for the terminal and for SVG alike.
#pragma once

#include "analysis/report/chart.h"
#include "analysis/report/plan.h"

namespace geiger::report {

/// Chance of at least one sample of N bytes, over N in intervals: 1 - e^(-N/T).
[[nodiscard]] Chart chance_chart(const PlanReport& report);
/// Expected relative error of N bytes of small objects, over N: sqrt(T/N).
[[nodiscard]] Chart error_chart(const PlanReport& report);

}  // namespace geiger::report
