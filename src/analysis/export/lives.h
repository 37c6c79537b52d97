// Sampled objects one by one, each with its weight, for formats that follow objects through time.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"
#include "estimation/counts.h"

namespace geiger::exports {

/// A sampled object and the objects that it stands for.
struct Life {
  const profile::Sample* sample = nullptr;
  estimation::Count kind;  ///< As estimates count it.
  double bytes = 0;        ///< z/pi
  double objects = 0;      ///< 1/pi
};

/// Of what `part` selects of everything allocated, where it is known how long samples live:
/// those that were thinned out are not among them, the others stand for more. Nothing of
/// processes that only counted their samples.
[[nodiscard]] std::vector<Life> lives_of(const profile::Recording& recording,
                                         const profile::Selection& part);

/// The rate at which objects of this size alone, drawn and not thinned, have pi of the kind;
/// kCertainRate where nothing can have been missed.
[[nodiscard]] double effective_rate(const estimation::Count& kind);

/// An object comes or goes.
struct Event {
  Nanoseconds time = 0;    ///< CLOCK_MONOTONIC.
  std::uint32_t life = 0;  ///< Into the lives.
  bool is_free = false;
};

/// In order of time; allocations come before frees of the same instant.
[[nodiscard]] std::vector<Event> events_of(const std::vector<Life>& lives);

}  // namespace geiger::exports
