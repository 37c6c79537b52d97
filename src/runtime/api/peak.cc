#include "runtime/api/peak.h"

#include <algorithm>
#include <cmath>

#include "estimation/sums.h"
#include "estimation/thinning.h"
#include "sampling/prng.h"

namespace geiger::api {
namespace {

/// Apart from the stream that thins.
constexpr std::uint64_t kHalvesStream = 0x68616c766573;

bool is_sure(const Drawn& drawn) { return drawn.is_certain || std::isinf(drawn.lambda); }

estimation::Halves halves_of(const LiveTrace& trace, const Drawn& drawn) {
  if (is_sure(drawn)) return {.in_first = true, .in_second = true};
  const trace::SampleRecord& record = trace.sample(drawn.ref);
  const std::uint64_t random = sampling::thread_seed(trace.header->seed ^ kHalvesStream, drawn.ref);
  return estimation::halves_of(record.requested(), record.offset, drawn.lambda, random);
}

double weighted_bytes(const trace::SampleRecord& record, const Drawn& drawn) {
  const auto size = static_cast<double>(record.requested());
  if (is_sure(drawn)) return size;
  return size / estimation::inclusion_probability(record.requested(), drawn.lambda / 2);
}

struct Event {
  Nanoseconds time;
  double bytes;  ///< Negative for a free.
};

std::vector<Event> events_of(const Profile& profile) {
  std::vector<Event> events;
  for (const Drawn& drawn : profile.samples) {
    if (!halves_of(profile.trace, drawn).in_first) continue;
    const trace::SampleRecord& record = profile.trace.sample(drawn.ref);
    const double bytes = weighted_bytes(record, drawn);
    events.push_back({record.time, bytes});
    if (drawn.is_freed) events.push_back({drawn.until, -bytes});
  }
  std::ranges::stable_sort(events, {}, &Event::time);
  return events;
}

/// The first instant at which most is live; all events of an instant count as one.
Nanoseconds locate(const std::vector<Event>& events, Nanoseconds otherwise) {
  double live = 0;
  double largest = 0;
  Nanoseconds instant = otherwise;
  for (std::size_t i = 0; i < events.size(); ++i) {
    live += events[i].bytes;
    const bool is_last = i + 1 == events.size() || events[i + 1].time != events[i].time;
    if (!is_last || live <= largest) continue;
    largest = live;
    instant = events[i].time;
  }
  return instant;
}

bool is_live_at(const Profile& profile, const Drawn& drawn, Nanoseconds instant) {
  const bool is_there = profile.trace.sample(drawn.ref).time <= instant;
  return is_there && (!drawn.is_freed || drawn.until > instant);
}

void halve(Drawn& drawn) {
  if (is_sure(drawn)) return;
  drawn.lambda /= 2;
  drawn.interval *= 2;
}

}  // namespace

void read_peak(Profile& profile) {
  profile.kind = GEIGER_LIFETIMES;  // Allocations with their frees.
  read_window(profile);
  profile.kind = GEIGER_PEAK;
  std::erase_if(profile.samples,
                [&](const Drawn& drawn) { return profile.trace.sample(drawn.ref).heap() != 0; });
  const Nanoseconds instant = locate(events_of(profile), profile.to);
  std::erase_if(profile.samples, [&](const Drawn& drawn) {
    return !halves_of(profile.trace, drawn).in_second || !is_live_at(profile, drawn, instant);
  });
  for (Drawn& drawn : profile.samples) halve(drawn);
  profile.from = profile.to = instant;
}

}  // namespace geiger::api
