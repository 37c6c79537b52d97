#include "analysis/profile/lives/lifetime_class.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace geiger::profile {

LifetimeClass lifetime_class_of(const Sample& sample) {
  if (sample.free_time == 0) return kAliveAtEnd;
  const Nanoseconds lived = sample.free_time - std::min(sample.free_time, sample.time);
  LifetimeClass found = 0;
  for (Nanoseconds limit = 1'000; found + 1 < kAliveAtEnd && lived >= limit; limit *= 10) ++found;
  return found;
}

std::string_view name_of_lifetime(LifetimeClass lifetime) {
  static constexpr std::array<std::string_view, kLifetimeClasses> kNames{
      "< 1 us",     "1-10 us", "10-100 us", "100 us-1 ms", "1-10 ms",   "10-100 ms",
      "100 ms-1 s", "1-10 s",  "10-100 s",  "100-1000 s",  ">= 1000 s", "alive at end"};
  GEIGER_CHECK(lifetime < kNames.size());
  return kNames[lifetime];
}

}  // namespace geiger::profile
