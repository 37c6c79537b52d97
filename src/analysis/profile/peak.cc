#include "analysis/profile/peak.h"

#include <algorithm>
#include <tuple>

#include "analysis/profile/hash.h"
#include "analysis/profile/thinned.h"
#include "analysis/profile/totals.h"
#include "estimation/distributions/normal.h"
#include "estimation/sums.h"

namespace geiger::profile {
namespace {

/// Bytes that live at an instant, as samples show them.
struct Live {
  double bytes = 0;  ///< Weighted.
  double seen = 0, variance = 0;

  void add(const Live& other) {
    bytes += other.bytes;
    seen += other.seen;
    variance += other.variance;
  }
  [[nodiscard]] Live operator-() const { return {-bytes, -seen, -variance}; }
};

struct HeapStep {
  Nanoseconds time;
  Live change;
};

estimation::Count locating_count(const Recording& recording, const Sample& sample) {
  estimation::Count count = count_of(recording, sample);
  const double keep = recording.processes[sample.process].keep();
  if (keep < 1) return first_part(count, keep);
  count.lambda *= kLocatingShare;
  return count;
}

Live live_of(const Recording& recording, const Sample& sample, bool is_split) {
  const estimation::Count count =
      is_split ? locating_count(recording, sample) : count_of_fate(recording, sample);
  estimation::NodeSums sums;
  estimation::add(sums, count, 1);
  return {sums.all_bytes(), sums.bytes_seen + sums.certain_bytes, sums.bytes_variance};
}

/// The sample's place among those of its process.
std::uint64_t position_of(const Recording& recording, const Sample& sample) {
  const auto& samples = recording.samples_beside(sample.heap);
  const auto first = std::ranges::lower_bound(samples, sample.process, {}, &Sample::process);
  return static_cast<std::uint64_t>(&sample - &*first);
}

std::uint64_t split_bits(const Recording& recording, const Sample& sample) {
  const std::uint64_t seed = recording.processes[sample.process].seed;
  return spread(spread(0, seed), position_of(recording, sample));
}

/// When a sample leaves the heap: it is freed, or its process ends; never: ~0.
Nanoseconds death_of(const Recording& recording, const Sample& sample) {
  if (sample.free_time != 0) return sample.free_time;
  const Nanoseconds last = last_instant_of(recording.processes[sample.process]);
  return last == ~Nanoseconds{0} ? last : std::max(last, sample.time) + 1;
}

/// What every sample adds to the live heap and takes from it, in an order that knows no numbers
/// of processes.
std::vector<HeapStep> steps_of(const Recording& recording, bool is_split, const PeakScope& within) {
  std::vector<HeapStep> steps;
  for (const Sample& sample : samples_for_peak(recording, within)) {
    if (sample.heap != within.heap || sample.is_thinned_out) continue;
    if (is_split && !parts_of(recording, sample).in_first) continue;
    const Live live = live_of(recording, sample, is_split);
    steps.push_back({std::max(sample.time, sample.seen_from), live});
    const Nanoseconds death = death_of(recording, sample);
    if (death != ~Nanoseconds{0}) steps.push_back({death, -live});
  }
  std::ranges::sort(steps, [](const HeapStep& a, const HeapStep& b) {
    return std::tie(a.time, a.change.bytes) < std::tie(b.time, b.change.bytes);
  });
  return steps;
}

/// Calls `visit` with each instant of the window from which on another heap is live, and with it.
template <typename Visit>
void visit_heaps(const std::vector<HeapStep>& steps, const PeakScope& within, const Visit& visit) {
  const Nanoseconds from = within.from.value_or(0);
  const Nanoseconds to = within.to.value_or(~Nanoseconds{0});
  Live live;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    live.add(steps[i].change);
    // The heap at an instant is what all steps up to it leave behind; before the window
    // only the last of them counts, from the window's start on.
    const Nanoseconds next = i + 1 == steps.size() ? ~Nanoseconds{0} : steps[i + 1].time;
    const Nanoseconds instant = std::max(steps[i].time, from);
    if (next > instant && instant < to) visit(instant, live);
  }
}

/// What all samples tell of a heap, as estimates take it.
estimation::NodeSums sums_of(const Live& live, double largest_interval) {
  estimation::NodeSums sums;
  sums.certain_bytes = live.seen;
  sums.weighted_bytes = live.bytes - live.seen;
  sums.bytes_variance = live.variance;
  sums.could_have_sampled(largest_interval);
  return sums;
}

/// Orders heaps by their upper limits: these for a gamma law whose cube root is normal (Wilson and
/// Hilferty), z its quantile. Off by at most .6 % of the unseen bytes, and alike for heaps alike.
double approximate_limit(const estimation::NodeSums& sums, double z) {
  const double mean = std::max(sums.weighted_bytes, 0.0) + sums.largest_interval;
  if (!(mean > 0)) return sums.certain_bytes;
  const double event = sums.largest_interval;
  const double ninth = (std::max(sums.bytes_variance, 0.0) + event * event) / (9 * mean * mean);
  const double root = 1 - ninth + z * std::sqrt(ninth);
  return sums.certain_bytes + mean * root * root * root;
}

}  // namespace

estimation::Parts parts_of(const Recording& recording, const Sample& sample) {
  const bool is_thinned = recording.processes[sample.process].thinning > 0;
  if (is_thinned) return parts_of_fate(recording, sample, split_bits(recording, sample));
  if (is_surely_sampled(recording, sample)) return {.in_first = true, .in_second = true};
  return estimation::parts_of(sample.requested, sample.offset,
                              recording.epochs[sample.epoch].lambda, kLocatingShare,
                              split_bits(recording, sample));
}

bool is_beside_choice(const Recording& recording, const Sample& sample) {
  const bool is_thinned = recording.processes[sample.process].thinning > 0;
  if (is_thinned) return is_beside_first_part(recording, sample, split_bits(recording, sample));
  return parts_of(recording, sample).in_second;
}

bool is_any_uncertain(const Recording& recording, std::uint32_t heap) {
  return std::ranges::any_of(recording.samples_beside(heap), [&](const Sample& sample) {
    return recording.processes[sample.process].thinning > 0 ||
           !is_surely_sampled(recording, sample);
  });
}

std::span<const Sample> samples_for_peak(const Recording& recording, const PeakScope& within) {
  const auto& samples = recording.samples_beside(within.heap);
  if (within.process == kNone) return samples;
  return {std::ranges::lower_bound(samples, within.process, {}, &Sample::process),
          std::ranges::upper_bound(samples, within.process, {}, &Sample::process)};
}

Peak locate_peak(const Recording& recording, bool is_split, const PeakScope& within) {
  const Nanoseconds start =
      within.process == kNone ? start_of(recording) : recording.processes[within.process].start;
  Peak peak{.time = std::max(start, within.from.value_or(0))};
  visit_heaps(steps_of(recording, is_split, within), within,
              [&](Nanoseconds instant, const Live& live) {
                if (live.bytes > peak.bytes) peak = {instant, live.bytes};
              });
  return peak;
}

Nanoseconds next_free(const Recording& recording, const PeakScope& within, Nanoseconds instant) {
  Nanoseconds next = ~Nanoseconds{0};
  const auto consider = [&](Nanoseconds death) {
    if (death > instant) next = std::min(next, death);
  };
  for (const Sample& sample : samples_for_peak(recording, within)) {
    const bool is_told = sample.heap == within.heap && !sample.is_thinned_out;
    if (is_told) consider(death_of(recording, sample));
  }
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    const Nanoseconds last = last_instant_of(recording.processes[i]);
    const bool is_within = within.process == kNone || within.process == i;
    if (is_within && last != ~Nanoseconds{0}) consider(last + 1);
  }
  return next;
}

estimation::Estimate estimate_peak(const Recording& recording, const PeakScope& within,
                                   estimation::Estimate there, double level) {
  const double interval = largest_interval_of_fates(recording);
  const double z = estimation::upper_normal_quantile(estimation::alpha_of(level) / 2);
  estimation::NodeSums highest = sums_of({}, interval);
  visit_heaps(steps_of(recording, false, within), within, [&](Nanoseconds, const Live& live) {
    const estimation::NodeSums sums = sums_of(live, interval);
    if (approximate_limit(sums, z) > approximate_limit(highest, z)) highest = sums;
  });
  there.interval.hi = std::max(there.value, estimation::estimate_bytes(highest, level).interval.hi);
  return there;
}

}  // namespace geiger::profile
