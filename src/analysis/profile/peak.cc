#include "analysis/profile/peak.h"

#include <algorithm>

#include "estimation/sums.h"

namespace geiger::profile {
namespace {

struct Event {
  std::uint32_t process;
  Nanoseconds time;
  double bytes;  ///< Weighted; negative for a free.
};

/// A finalizer that spreads every input bit over all output bits.
std::uint64_t finalize(std::uint64_t x) {
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
  return x ^ x >> 32;
}

double weighted_bytes(const Recording& recording, const Sample& sample, double keep) {
  const auto size = static_cast<double>(sample.requested);
  if (is_surely_sampled(recording, sample)) return size;
  const double lambda = recording.epochs[sample.epoch].lambda;
  const double inclusion = keep * estimation::inclusion_probability(sample.requested, lambda);
  return inclusion > 0 ? size / inclusion : 0;
}

std::vector<Event> events_of(const Recording& recording, double keep) {
  std::vector<Event> events;
  for (const Sample& sample : recording.samples) {
    const bool locates = keep == 1.0 || is_surely_sampled(recording, sample) ||
                         half_of(recording, sample) == Half::kLocates;
    if (!locates) continue;
    const double bytes = weighted_bytes(recording, sample, keep);
    events.push_back({sample.process, sample.time, bytes});
    if (sample.free_time != 0) events.push_back({sample.process, sample.free_time, -bytes});
  }
  std::ranges::stable_sort(events, [](const Event& a, const Event& b) {
    return a.process != b.process ? a.process < b.process : a.time < b.time;
  });
  return events;
}

}  // namespace

Half half_of(const Recording& recording, const Sample& sample) {
  std::uint64_t hash = finalize(recording.processes[sample.process].seed ^ 0x67656967657243f7);
  for (const std::uint64_t part : {sample.time, sample.address, sample.offset}) {
    hash = finalize(hash + part);
  }
  return (hash >> 63) == 0 ? Half::kLocates : Half::kEstimates;
}

std::vector<Nanoseconds> locate_peaks(const Recording& recording, double keep) {
  std::vector<Nanoseconds> peaks;
  for (const Process& process : recording.processes) peaks.push_back(process.start);
  std::vector<double> largest(peaks.size(), 0.0);
  const std::vector<Event> events = events_of(recording, keep);
  double live = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const bool is_first = i == 0 || events[i - 1].process != event.process;
    live = is_first ? event.bytes : live + event.bytes;
    // The heap at an instant is what all events of that instant leave behind.
    const bool more_now = i + 1 < events.size() && events[i + 1].process == event.process &&
                          events[i + 1].time == event.time;
    if (more_now || live <= largest[event.process]) continue;
    largest[event.process] = live;
    peaks[event.process] = event.time;
  }
  return peaks;
}

}  // namespace geiger::profile
