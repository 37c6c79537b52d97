#include "analysis/report/allocators/allocators.h"

#include <algorithm>

#include "analysis/profile/profile.h"
#include "analysis/report/overview/rss.h"
#include "base/check.h"
#include "estimation/repeats.h"

namespace geiger::report {
namespace {

/// Both figures of a program that takes next to nothing are above 0.
constexpr double kLeastCpu = 1e-6;

std::vector<double> cpu_of(const AllocatorRuns& runs) {
  std::vector<double> out;
  for (const AllocatorTrial& trial : runs.trials) out.push_back(std::max(trial.cpu, kLeastCpu));
  return out;
}

std::vector<double> peaks_of(const AllocatorRuns& runs) {
  std::vector<double> out;
  for (const AllocatorTrial& trial : runs.trials) {
    out.push_back(static_cast<double>(std::max<Bytes>(trial.peak, 1)));
  }
  return out;
}

/// A level at which all intervals of a comparison hold together (Bonferroni), on the upper side.
double joint_level(const std::vector<AllocatorRuns>& runs, double level) {
  constexpr double kFigures = 2;
  const auto compared = static_cast<double>(std::max<std::size_t>(runs.size() - 1, 1));
  return 1 - 2 * (1 - level) / (kFigures * compared);
}

}  // namespace

AllocatorsReport allocators_report(std::vector<AllocatorRuns> runs, double level) {
  GEIGER_CHECK(!runs.empty() && !runs.front().trials.empty());
  AllocatorsReport report;
  report.level = level;
  report.rounds = runs.front().trials.size();
  const std::vector<double> own_cpu = cpu_of(runs.front());
  const std::vector<double> own_peaks = peaks_of(runs.front());
  const double joint = joint_level(runs, level);
  for (AllocatorRuns& each : runs) {
    AllocatorLine line;
    if (each.fault.empty()) {
      const std::vector<double> cpu = cpu_of(each);
      const std::vector<double> peaks = peaks_of(each);
      line.cpu = estimation::mean_of(cpu, level);
      line.peak = estimation::mean_of(peaks, level);
      line.cpu_ratio = estimation::ratio_of_pairs(own_cpu, cpu, level);
      line.peak_ratio = estimation::ratio_of_pairs(own_peaks, peaks, level);
      const bool may_tell = report.rounds >= kLeastRounds && !each.is_own_too;
      line.takes_less_cpu =
          may_tell && estimation::ratio_of_pairs(own_cpu, cpu, joint).interval.hi < 1;
      line.takes_less_memory =
          may_tell && estimation::ratio_of_pairs(own_peaks, peaks, joint).interval.hi < 1;
    }
    line.runs = std::move(each);
    report.lines.push_back(std::move(line));
  }
  return report;
}

AllocatorMemory allocator_memory(const profile::Recording& recording, double level) {
  AllocatorMemory memory;
  RssOptions options;
  options.level = level;
  const auto rss = rss_report(recording, options);
  if (rss.has_value()) {
    const auto row = std::ranges::find(rss->rows, RssPart::kAllocator, &RssRow::part);
    if (row != rss->rows.end()) memory.kept = row->bytes;
  }
  profile::Selection selection;
  selection.kind = profile::Kind::kStranded;
  if (profile::check_kind(recording, selection.kind, selection.moment).has_value()) {
    const auto sums = profile::total(recording, profile::select(recording, selection));
    const present::Measure measure = present::measure_total(sums, level);
    if (measure.samples != 0) memory.stranded = measure.bytes;
  }
  return memory;
}

}  // namespace geiger::report
