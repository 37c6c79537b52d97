#include "analysis/export/lives.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "analysis/export/stack_sums.h"
#include "analysis/profile/thinned.h"

namespace geiger::exports {

std::vector<Life> lives_of(const profile::Recording& recording, const profile::Selection& part) {
  profile::Selection selection = of_kind(part, profile::Kind::kAllocated);
  selection.splits_by_lifetime = true;
  std::vector<Life> lives;
  for (const profile::Sample* sample : profile::choose(recording, selection).samples) {
    estimation::NodeSums sums;
    const estimation::Count kind = profile::count_of_fate(recording, *sample);
    estimation::add(sums, kind, 1);
    lives.push_back({sample, kind, sums.all_bytes(), sums.all_objects()});
  }
  return lives;
}

double effective_rate(const estimation::Count& kind) {
  if (kind.keep >= 1) return kind.lambda;
  const auto size = static_cast<double>(estimation::tried_bytes(kind.size));
  return -std::log1p(-inclusion_probability(kind)) / size;
}

std::vector<Event> events_of(const std::vector<Life>& lives) {
  std::vector<Event> events;
  events.reserve(lives.size() * 2);
  for (std::uint32_t i = 0; i < lives.size(); ++i) {
    const profile::Sample& sample = *lives[i].sample;
    events.push_back({sample.time, i, false});
    if (sample.free_time != 0) events.push_back({std::max(sample.time, sample.free_time), i, true});
  }
  std::ranges::sort(events, {}, [](const Event& event) {
    return std::tuple(event.time, event.is_free, event.life);
  });
  return events;
}

}  // namespace geiger::exports
