// What is served to Prometheus: one set of metrics per process.
#pragma once

#include <string>
#include <vector>

#include "analysis/profile/recording.h"
#include "analysis/report/profiles/live.h"

namespace geiger::live {

/// `processes`: those to report; `now`: of LiveOptions. `level`: of the intervals, in (0, 1).
[[nodiscard]] std::string served_metrics(const profile::Recording& picture,
                                         const std::vector<report::LiveProcess>& processes,
                                         Nanoseconds now, double level);

}  // namespace geiger::live
