#include "analysis/page/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "analysis/page/cells.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/totals.h"

namespace geiger::page {
namespace {

using profile::Recording;

using Points = std::vector<std::pair<Nanoseconds, Bytes>>;

/// A reading of one process's memory, or its end.
struct Reading {
  Nanoseconds time = 0;
  std::size_t of = 0;  ///< Which of the processes that were read.
  Bytes bytes = 0;
};

/// Readings of `count` processes added up; of each stretch of time the largest.
Points added_up(std::vector<Reading> readings, std::size_t count, const Recording& recording,
                const Span& span) {
  std::ranges::sort(readings, [](const Reading& a, const Reading& b) {
    return std::tie(a.time, a.of) < std::tie(b.time, b.of);
  });
  const Nanoseconds start = profile::start_of(recording);
  const Buckets stretches(span, kMostPoints);
  std::vector<Bytes> bytes(count, 0);
  Bytes sum = 0;
  Points points;
  std::int32_t stretch = -1;
  for (const Reading& reading : readings) {
    sum += reading.bytes;
    sum -= bytes[reading.of];
    bytes[reading.of] = reading.bytes;
    if (reading.time < span.from || reading.time >= span.to) continue;
    const std::pair point(reading.time - start, sum);
    if (points.empty() || stretches.of(reading.time) != stretch) {
      points.push_back(point);
    } else if (sum > points.back().second) {
      points.back() = point;
    }
    stretch = stretches.of(reading.time);
  }
  return points;
}

std::vector<Reading> readings_of(const Recording& recording) {
  std::vector<Reading> readings;
  for (std::size_t i = 0; i < recording.observations.size(); ++i) {
    const profile::Observations& observed = recording.observations[i];
    for (const profile::SeriesPoint& point : observed.series) {
      readings.push_back({point.time, i, point.counts.resident});
    }
    const Nanoseconds end = recording.processes[observed.process].end;
    const bool is_last = observed.series.empty() || observed.series.back().time < end;
    if (recording.observations.size() > 1 && is_last) readings.push_back({end, i, 0});
  }
  return readings;
}

}  // namespace

Span span_of(const Recording& recording, const profile::Selection& selection) {
  const Nanoseconds start = profile::start_of(recording);
  const Nanoseconds end = start + profile::duration_of(recording) + 1;
  const Nanoseconds from = selection.from.value_or(start);
  return {from, std::max(selection.to.value_or(end), from + 1)};
}

Points resident_series(const Recording& recording, const Span& span) {
  return added_up(readings_of(recording), recording.observations.size(), recording, span);
}

Points mapped_series(const Recording& recording, const Span& span) {
  std::vector<Reading> readings;
  for (std::uint32_t process = 0; process < recording.processes.size(); ++process) {
    const Points steps = profile::mapped_over_time(recording, process);
    if (steps.empty()) continue;
    const Nanoseconds from = std::max(recording.processes[process].start, span.from);
    readings.push_back({from, process, 0});
    for (const auto& [time, bytes] : steps) readings.push_back({time, process, bytes});
    // It stays mapped until the process ends: of several, others go on without it.
    const Nanoseconds end = std::min(recording.processes[process].end, span.to - 1);
    const Bytes last = recording.processes.size() > 1 ? 0 : steps.back().second;
    if (steps.back().first < end) readings.push_back({end, process, last});
  }
  return added_up(std::move(readings), recording.processes.size(), recording, span);
}

MarksOfPage marks_of(const Recording& recording, const Span& span) {
  const Nanoseconds start = profile::start_of(recording);
  MarksOfPage out;
  for (const profile::NumberedMark& numbered : profile::numbered_marks(recording)) {
    const profile::Mark& mark = recording.marks[numbered.mark];
    if (mark.time < span.from || mark.time >= span.to) continue;
    if (++out.all > kMostMarks) continue;
    out.marks.push_back(
        {mark.time - start,
         numbered.of_name == 1 ? mark.name : fmt::format("{}#{}", mark.name, numbered.number)});
  }
  return out;
}

std::optional<Nanoseconds> peak_of(const Recording& recording, const profile::Profile& peak) {
  if (peak.entries.empty() || peak.peak_times.empty()) return std::nullopt;
  const Nanoseconds time = peak.peak_times.front();
  const Nanoseconds start = profile::start_of(recording);
  return time - std::min(time, start);
}

std::vector<estimation::Estimate> live_over_time(const Items& items, const Buckets& buckets,
                                                 double largest_interval, double level) {
  std::vector<estimation::Estimate> live;
  for (const estimation::NodeSums& sums : live_sums(items, buckets, largest_interval)) {
    live.push_back(estimation::estimate_bytes(sums, level));
  }
  return live;
}

}  // namespace geiger::page
