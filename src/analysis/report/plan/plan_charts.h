// The pictures of a plan, for the terminal and for SVG: a curve for each interval.
#pragma once

#include "analysis/present/charts/chart.h"
#include "analysis/report/plan/plan.h"

namespace geiger::report {

/// Chance of at least one sample of N bytes, 1 - e^(-N/T), over N in intervals if there
/// is one, else in bytes.
[[nodiscard]] present::Chart chance_chart(const PlanReport& report);
/// Expected relative error of N bytes of small objects, over N: sqrt(T/N).
[[nodiscard]] present::Chart error_chart(const PlanReport& report);
/// How far what a sampled object stands for is from its size, over its size; up to the
/// largest interval, from where on objects are certain.
[[nodiscard]] present::Chart object_chart(const PlanReport& report);

}  // namespace geiger::report
