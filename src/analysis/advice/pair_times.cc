#include "analysis/advice/pair_times.h"

#include <algorithm>

#include "base/check.h"

namespace geiger::advice {

estimation::Estimate PairTimes::seconds(const estimation::Estimate& calls,
                                        const std::map<Bytes, double>& by_size) const {
  GEIGER_ASSERT(is_known());
  double all = 0;
  PairTime mean;
  for (const auto& [bytes, number] : by_size) {
    // Of sizes between two that were timed, the larger one.
    auto timed = std::ranges::lower_bound(times, bytes, {}, &PairTime::bytes);
    if (timed == times.end()) --timed;
    all += number;
    mean.usual += number * timed->usual;
    mean.interval.lo += number * timed->interval.lo;
    mean.interval.hi += number * timed->interval.hi;
  }
  if (!(all > 0)) return {};
  estimation::Estimate seconds;
  seconds.value = calls.value * mean.usual / all;
  seconds.interval = {calls.interval.lo * mean.interval.lo / all,
                      calls.interval.hi * mean.interval.hi / all};
  seconds.samples = calls.samples;
  return seconds;
}

}  // namespace geiger::advice
