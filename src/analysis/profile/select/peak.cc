#include "analysis/profile/select/peak.h"

#include <algorithm>
#include <utility>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"
#include "estimation/heap_course.h"
#include "estimation/sums.h"

namespace geiger::profile {

namespace {

estimation::Count locating_count(const Recording& recording, const Sample& sample) {
  estimation::Count count = count_of(recording, sample);
  const double keep = recording.processes[sample.process].keep();
  if (keep < 1) return first_part(count, keep);
  count.lambda *= kLocatingShare;
  return count;
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

/// What every sample adds to the live heap and takes from it. `change_of`: what it is of the heap.
template <typename Step, typename Change>
std::vector<Step> steps_of(const Recording& recording, bool is_split, const PeakScope& within,
                           const Change& change_of) {
  std::vector<Step> steps;
  for (const Sample& sample : samples_for_peak(recording, within)) {
    if (sample.heap != within.heap || sample.is_thinned_out) continue;
    if (is_split && !parts_of(recording, sample).in_first) continue;
    estimation::NodeSums sums;
    add(sums, is_split ? locating_count(recording, sample) : count_of_fate(recording, sample), 1);
    const auto change = change_of(sample, heap_bytes(sums));
    steps.push_back({std::max(sample.time, sample.seen_from), change});
    const Nanoseconds death = death_of(recording, sample);
    if (death != ~Nanoseconds{0}) steps.push_back({death, -change});
  }
  return steps;
}

estimation::HeapCourse course_of(const Recording& recording, bool is_split,
                                 const PeakScope& within) {
  return estimation::HeapCourse(steps_of<estimation::HeapStep>(
      recording, is_split, within,
      [](const Sample&, const estimation::HeapBytes& bytes) { return bytes; }));
}

std::vector<estimation::PartedStep> parted_steps(const Recording& recording,
                                                 const PeakTotal& peak) {
  return steps_of<estimation::PartedStep>(
      recording, false, peak.within,
      [&](const Sample& sample, const estimation::HeapBytes& bytes) -> estimation::PartedHeap {
        const Answer answer = peak.keeps(sample);
        if (answer == Answer::kNo) return {.rest = bytes};
        if (answer == Answer::kOpen) return {.open = bytes};
        return {.part = bytes};
      });
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

std::vector<bool> there_at_end(const Recording& recording, const Selection& selection) {
  std::vector<bool> there(recording.processes.size(), true);
  if (selection.at_own_ends) return there;
  Nanoseconds end = 0;
  for (std::uint32_t i = 0; i < there.size(); ++i) {
    const bool is_of = selection.processes.empty() ||
                       std::ranges::find(selection.processes, i) != selection.processes.end();
    const Process& process = recording.processes[i];
    const bool is_open = process.ending == Ending::kStillOpen;
    if (is_of) end = std::max({end, process.start, is_open ? ~Nanoseconds{0} : process.end});
  }
  for (std::uint32_t i = 0; i < there.size(); ++i) {
    there[i] = is_running(recording.processes[i], end);
  }
  return there;
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
  const estimation::HeapStep largest =
      course_of(recording, is_split, within).largest(within.first(), within.behind());
  if (largest.change.weighted > 0) return {largest.time, largest.change.weighted};
  return {.time = std::max(start, within.first())};
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

estimation::Estimate estimate_peak(const Recording& recording, const PeakTotal& peak,
                                   const estimation::Estimate& there, double level) {
  const PeakScope& within = peak.within;
  const double interval = largest_interval_of_fates(recording);
  if (!peak.keeps) {
    return course_of(recording, false, within)
        .estimate_largest(there, within.first(), within.behind(), interval, level);
  }
  const estimation::Interval limits =
      limits_at_largest(parted_steps(recording, peak), peak.whole_heap, within.first(),
                        within.behind(), interval, level);
  estimation::Estimate part = there;
  part.interval = {std::min(there.interval.lo, limits.lo), std::max(there.interval.hi, limits.hi)};
  return part;
}

}  // namespace geiger::profile
