#include "analysis/profile/peak.h"

#include <algorithm>
#include <tuple>

#include "analysis/profile/hash.h"
#include "analysis/profile/thinned.h"
#include "analysis/profile/totals.h"
#include "estimation/sums.h"

namespace geiger::profile {
namespace {

struct HeapStep {
  Nanoseconds time;
  double bytes;  ///< Weighted; negative for a free.
};

estimation::Count locating_count(const Recording& recording, const Sample& sample) {
  estimation::Count count = count_of(recording, sample);
  const double keep = recording.processes[sample.process].keep();
  if (keep < 1) return first_part(count, keep);
  count.lambda *= kLocatingShare;
  return count;
}

double weighted_bytes(const Recording& recording, const Sample& sample, bool is_split) {
  const estimation::Count count =
      is_split ? locating_count(recording, sample) : count_of_fate(recording, sample);
  const double inclusion = estimation::inclusion_probability(count);
  return inclusion > 0 ? static_cast<double>(sample.requested) / inclusion : 0;
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

/// What every sample adds to the live heap and takes from it: when it is freed, or its process
/// ends. In an order that knows no numbers of processes.
std::vector<HeapStep> steps_of(const Recording& recording, bool is_split, std::uint32_t heap,
                               std::uint32_t process) {
  std::vector<HeapStep> events;
  for (const Sample& sample : samples_for_peak(recording, heap, process)) {
    if (sample.heap != heap || sample.is_thinned_out) continue;
    if (is_split && !parts_of(recording, sample).in_first) continue;
    const double bytes = weighted_bytes(recording, sample, is_split);
    events.push_back({std::max(sample.time, sample.seen_from), bytes});
    const Nanoseconds last = last_instant_of(recording.processes[sample.process]);
    if (sample.free_time != 0) {
      events.push_back({sample.free_time, -bytes});
    } else if (last != ~Nanoseconds{0}) {
      events.push_back({std::max(last, sample.time) + 1, -bytes});
    }
  }
  std::ranges::sort(events, [](const HeapStep& a, const HeapStep& b) {
    return std::tie(a.time, a.bytes) < std::tie(b.time, b.bytes);
  });
  return events;
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

std::span<const Sample> samples_for_peak(const Recording& recording, std::uint32_t heap,
                                         std::uint32_t process) {
  const auto& samples = recording.samples_beside(heap);
  if (process == kNone) return samples;
  return {std::ranges::lower_bound(samples, process, {}, &Sample::process),
          std::ranges::upper_bound(samples, process, {}, &Sample::process)};
}

Peak locate_peak(const Recording& recording, bool is_split, const Selection& within,
                 std::uint32_t process) {
  const Nanoseconds from = within.from.value_or(0);
  const Nanoseconds to = within.to.value_or(~Nanoseconds{0});
  const Nanoseconds start =
      process == kNone ? start_of(recording) : recording.processes[process].start;
  Peak peak{.time = std::max(start, from)};
  const std::vector<HeapStep> events = steps_of(recording, is_split, within.heap, process);
  double live = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    live += events[i].bytes;
    // The heap at an instant is what all events up to it leave behind; before the window
    // only the last of them counts, from the window's start on.
    const Nanoseconds next = i + 1 == events.size() ? ~Nanoseconds{0} : events[i + 1].time;
    const Nanoseconds instant = std::max(events[i].time, from);
    if (next <= instant || instant >= to || live <= peak.bytes) continue;
    peak.time = instant;
    peak.bytes = live;
  }
  return peak;
}

}  // namespace geiger::profile
