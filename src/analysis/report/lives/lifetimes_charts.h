// The survival curve as a picture.
#pragma once

#include "analysis/present/charts/chart.h"
#include "analysis/report/lives/lifetimes.h"

namespace geiger::report {

/// The share alive against the length of life, with the limits of its band. A logarithmic
/// axis from the shortest life seen (at least 1 ns) to the longest watched.
[[nodiscard]] present::Chart survival_chart(const LifetimeFigures& figures, std::string title);

}  // namespace geiger::report
