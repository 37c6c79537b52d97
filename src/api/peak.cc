#include "api/peak.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "estimation/heap_course.h"
#include "estimation/sums.h"
#include "estimation/thinning.h"
#include "sampling/prng.h"

namespace geiger::api {
namespace {

using estimation::kLocatingShare;

/// Different from the stream of thinning.
constexpr std::uint64_t kPartsStream = 0x68616c766573;

bool is_sure(const Drawn& drawn) { return drawn.is_certain || std::isinf(drawn.lambda); }

estimation::Parts parts_of(const MappedTrace& trace, const Drawn& drawn) {
  if (is_sure(drawn)) return {.in_first = true, .in_second = true};
  const trace::SampleRecord& record = trace.sample(drawn.ref);
  const std::uint64_t random = sampling::thread_seed(trace.header->seed ^ kPartsStream, drawn.ref);
  return estimation::parts_of(record.requested(), record.offset, drawn.lambda, kLocatingShare,
                              random);
}

/// Weighted bytes at a share of the rate.
double weighted_bytes(const trace::SampleRecord& record, const Drawn& drawn, double share) {
  const auto size = static_cast<double>(record.requested());
  if (is_sure(drawn)) return size;
  return size / estimation::inclusion_probability(record.requested(), drawn.lambda * share);
}

/// Interval of the part that estimates.
std::uint64_t interval_of_part(std::uint64_t interval) {
  return static_cast<std::uint64_t>(
      std::llround(static_cast<double>(interval) / (1 - kLocatingShare)));
}

/// What each sample adds to the heap and takes from it: of the part that locates, or of all.
estimation::HeapCourse course_of(const Profile& profile, bool is_split) {
  std::vector<estimation::HeapStep> steps;
  for (const Drawn& drawn : profile.samples) {
    if (is_split && !parts_of(profile.trace, drawn).in_first) continue;
    const trace::SampleRecord& record = profile.trace.sample(drawn.ref);
    estimation::NodeSums sums;
    const double rate = is_sure(drawn) ? HUGE_VAL : drawn.lambda * (is_split ? kLocatingShare : 1);
    sums.add(record.requested(), rate);
    const estimation::HeapBytes bytes = heap_bytes(sums);
    steps.push_back({record.time, bytes});
    if (drawn.is_freed) steps.push_back({drawn.until, -bytes});
  }
  return estimation::HeapCourse(std::move(steps));
}

/// The last instant at which nothing after `instant` is freed yet; `now` where nothing is.
Nanoseconds before_next_free(const Profile& profile, Nanoseconds instant, Nanoseconds now) {
  Nanoseconds last = now;
  for (const Drawn& drawn : profile.samples) {
    if (drawn.is_freed && drawn.until > instant) last = std::min(last, drawn.until - 1);
  }
  return last;
}

bool is_live_at(const Profile& profile, const Drawn& drawn, Nanoseconds instant) {
  const bool is_there = profile.trace.sample(drawn.ref).time <= instant;
  return is_there && (!drawn.is_freed || drawn.until > instant);
}

/// Keeps the samples live at an instant: of the part that estimates, or of all.
void keep_live_at(Profile& profile, Nanoseconds instant, bool is_split) {
  std::erase_if(profile.samples, [&](const Drawn& drawn) {
    const bool is_there = !is_split || parts_of(profile.trace, drawn).in_second;
    return !is_there || !is_live_at(profile, drawn, instant);
  });
  profile.from = profile.to = instant;
  if (!is_split) return;
  for (Drawn& drawn : profile.samples) {
    if (is_sure(drawn)) continue;
    drawn.lambda *= 1 - kLocatingShare;
    drawn.interval = interval_of_part(drawn.interval);
  }
  profile.rate_factor = 1 - kLocatingShare;
}

double live_bytes_at(const Profile& profile, Nanoseconds instant, bool is_split) {
  double bytes = 0;
  for (const Drawn& drawn : profile.samples) {
    if (!is_live_at(profile, drawn, instant)) continue;
    if (is_split && !parts_of(profile.trace, drawn).in_second) continue;
    bytes +=
        weighted_bytes(profile.trace.sample(drawn.ref), drawn, is_split ? 1 - kLocatingShare : 1);
  }
  return bytes;
}

}  // namespace

void read_peak(Profile& profile) {
  profile.kind = GEIGER_LIFETIMES;  // Allocations with their frees.
  read_window(profile);
  profile.kind = GEIGER_PEAK;
  std::erase_if(profile.samples,
                [&](const Drawn& drawn) { return profile.trace.sample(drawn.ref).heap() != 0; });
  const Nanoseconds now = profile.to;
  const estimation::HeapStep largest = course_of(profile, true).largest(0, ~Nanoseconds{0});
  const bool is_any = largest.change.weighted > 0;
  const Nanoseconds instant = is_any ? before_next_free(profile, largest.time, now) : now;
  profile.course = course_of(profile, false);
  // Never below the estimate of all samples at the end.
  const bool is_now =
      instant == now || live_bytes_at(profile, now, false) > live_bytes_at(profile, instant, true);
  const bool is_split = !is_now && !std::ranges::all_of(profile.samples, is_sure);
  keep_live_at(profile, is_now ? now : instant, is_split);
}

}  // namespace geiger::api
