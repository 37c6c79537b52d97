#include "analysis/profile/peak.h"

#include <algorithm>

#include "analysis/profile/hash.h"
#include "analysis/profile/thinned.h"
#include "analysis/profile/totals.h"
#include "estimation/sums.h"

namespace geiger::profile {
namespace {

struct Event {
  std::uint32_t process;
  Nanoseconds time;
  double bytes;  ///< Weighted; negative for a free.
};

estimation::Count half_of(const Recording& recording, const Sample& sample) {
  estimation::Count count = count_of(recording, sample);
  const double keep = recording.processes[sample.process].keep();
  if (keep < 1) return halved(count, keep, true);
  count.lambda /= 2;
  return count;
}

double weighted_bytes(const Recording& recording, const Sample& sample, bool is_half) {
  const estimation::Count count =
      is_half ? half_of(recording, sample) : count_of_fate(recording, sample);
  const double inclusion = estimation::inclusion_probability(count);
  return inclusion > 0 ? static_cast<double>(sample.requested) / inclusion : 0;
}

/// The sample's place among those of its process.
std::uint64_t position_of(const Recording& recording, const Sample& sample) {
  const auto& samples = recording.samples_beside(sample.heap);
  const auto first = std::ranges::lower_bound(samples, sample.process, {}, &Sample::process);
  return static_cast<std::uint64_t>(&sample - &*first);
}

std::uint64_t random_of(const Recording& recording, const Sample& sample) {
  const std::uint64_t seed = recording.processes[sample.process].seed;
  return spread(spread(0, seed), position_of(recording, sample));
}

std::vector<Event> events_of(const Recording& recording, bool is_split, std::uint32_t heap) {
  std::vector<Event> events;
  for (const Sample& sample : recording.samples_beside(heap)) {
    if (sample.heap != heap || sample.is_thinned_out) continue;
    if (is_split && !halves_of(recording, sample).in_first) continue;
    const double bytes = weighted_bytes(recording, sample, is_split);
    events.push_back({sample.process, std::max(sample.time, sample.seen_from), bytes});
    if (sample.free_time != 0) events.push_back({sample.process, sample.free_time, -bytes});
  }
  std::ranges::stable_sort(events, [](const Event& a, const Event& b) {
    return a.process != b.process ? a.process < b.process : a.time < b.time;
  });
  return events;
}

}  // namespace

estimation::Halves halves_of(const Recording& recording, const Sample& sample) {
  const bool is_thinned = recording.processes[sample.process].thinning > 0;
  if (is_thinned) return halves_of_fate(recording, sample, random_of(recording, sample));
  if (is_surely_sampled(recording, sample)) return {.in_first = true, .in_second = true};
  return estimation::halves_of(sample.requested, sample.offset,
                               recording.epochs[sample.epoch].lambda, random_of(recording, sample));
}

bool is_beside_choice(const Recording& recording, const Sample& sample) {
  const bool is_thinned = recording.processes[sample.process].thinning > 0;
  if (is_thinned) return is_beside_first_half(recording, sample, random_of(recording, sample));
  return halves_of(recording, sample).in_second;
}

bool is_any_uncertain(const Recording& recording, std::uint32_t heap) {
  return std::ranges::any_of(recording.samples_beside(heap), [&](const Sample& sample) {
    return recording.processes[sample.process].thinning > 0 ||
           !is_surely_sampled(recording, sample);
  });
}

std::vector<Peak> locate_peaks(const Recording& recording, bool is_split, const Selection& within) {
  const Nanoseconds from = within.from.value_or(0);
  const Nanoseconds to = within.to.value_or(~Nanoseconds{0});
  std::vector<Peak> peaks;
  for (const Process& process : recording.processes) {
    peaks.push_back({std::max(process.start, from), 0});
  }
  const std::vector<Event> events = events_of(recording, is_split, within.heap);
  double live = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const bool is_first = i == 0 || events[i - 1].process != event.process;
    live = is_first ? event.bytes : live + event.bytes;
    const bool is_last = i + 1 == events.size() || events[i + 1].process != event.process;
    // The heap at an instant is what all events up to it leave behind; before the window
    // only the last of them counts, from the window's start on.
    const Nanoseconds next = is_last ? ~Nanoseconds{0} : events[i + 1].time;
    const Nanoseconds instant = std::max(event.time, from);
    if (next <= instant || instant >= to || live <= peaks[event.process].bytes) continue;
    peaks[event.process] = {instant, live};
  }
  return peaks;
}

Nanoseconds largest_peak(const Recording& recording, std::uint32_t heap) {
  Selection within;
  within.heap = heap;
  const auto peaks = locate_peaks(recording, is_any_uncertain(recording, heap), within);
  const auto largest = std::ranges::max_element(peaks, {}, &Peak::bytes);
  return largest == peaks.end() ? 0 : largest->time;
}

}  // namespace geiger::profile
