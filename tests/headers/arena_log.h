// Arenas whose samples are written down.
#pragma once

#include <cstdint>
#include <vector>

#include "geiger/arena.h"

namespace geiger {

struct Log {
  std::vector<ArenaSample> allocated;
  std::vector<ArenaSample> freed;

  SampleSink sink() {
    return {this,
            [](void* log, const ArenaSample& sample) noexcept {
              static_cast<Log*>(log)->allocated.push_back(sample);
            },
            [](void* log, const ArenaSample& sample) noexcept {
              static_cast<Log*>(log)->freed.push_back(sample);
            }};
  }
};

inline ArenaOptions with(Log& log, std::uint64_t interval, std::uint64_t seed,
                         bool is_pure = true) {
  ArenaOptions options;
  options.interval = interval;
  options.seed = seed;
  options.is_pure = is_pure;
  options.sink = log.sink();
  return options;
}

}  // namespace geiger
