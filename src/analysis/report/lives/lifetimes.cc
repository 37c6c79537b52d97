#include "analysis/report/lives/lifetimes.h"

#include <algorithm>

#include "analysis/present/measure.h"
#include "analysis/present/share.h"
#include "analysis/profile/totals.h"

namespace geiger::report {
namespace {

using estimation::SurvivalCurve;
using profile::CurveOver;
using profile::LifetimeGroup;
using profile::LifetimeGrouping;
using profile::LifetimeSums;
using profile::Recording;
using profile::Sample;

present::Share temporary_share(const SurvivalCurve& curve, Nanoseconds limit) {
  const estimation::SurvivalStep step = curve.at(static_cast<double>(limit));
  return {1 - step.alive, {1 - step.band.hi, 1 - step.band.lo}};
}

/// Evenly by rank: every part of the curve keeps its share of the steps; both ends stay.
std::vector<estimation::SurvivalStep> thinned(const SurvivalCurve& curve) {
  const std::size_t count = std::min(curve.size(), kMostSteps);
  std::vector<estimation::SurvivalStep> steps;
  steps.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    steps.push_back(curve.step(count == 1 ? 0 : i * (curve.size() - 1) / (count - 1)));
  }
  return steps;
}

LifetimeFigures figures_of(const Recording& recording, const LifetimeGroup& group, CurveOver over,
                           const LifetimesOptions& options) {
  const SurvivalCurve curve = survival_of(recording, group.samples, over, options.level);
  LifetimeFigures figures;
  figures.temporary = temporary_share(curve, options.temporary);
  figures.steps = thinned(curve);
  figures.step_count = curve.size();
  figures.longest = curve.longest();
  for (double length : options.lengths) {
    length = std::min(length, figures.longest);
    figures.asked.push_back(curve.at(length));
    figures.asked.back().length = length;
  }
  for (std::size_t i = 0; i < kFreedShares.size(); ++i) {
    figures.quantiles[i] = curve.quantile(kFreedShares[i]);
  }
  return figures;
}

std::optional<present::Share> share_if_known(const estimation::NodeSums& part,
                                             const estimation::NodeSums& known, double level) {
  if (!present::is_seen(known)) return std::nullopt;
  return present::share_of(part, known, level);
}

LifetimeLine line_of(const Recording& recording, const LifetimeGroup& group,
                     const LifetimesOptions& options) {
  const LifetimeSums sums = lifetime_sums(recording, group.samples);
  return {
      .name = group.name,
      .detail = group.detail,
      .stack = group.stack,
      .where = group.where,
      .allocated = present::measure_row(sums.allocated, options.level),
      .freed_samples = sums.freed.samples + sums.freed.certain_samples,
      .never_freed = present::share_of(sums.alive, sums.allocated, options.level),
      .other_thread =
          share_if_known(sums.freed_by_other_thread, sums.freed_by_known_thread, options.level),
      .other_cpu = share_if_known(sums.freed_on_other_cpu, sums.freed_on_known_cpu, options.level),
      .bytes = figures_of(recording, group, CurveOver::kBytes, options),
      .objects = figures_of(recording, group, CurveOver::kObjects, options)};
}

std::size_t shown_of(std::size_t count, std::size_t top) {
  return top == 0 ? count : std::min(count, top);
}

void add_free_places(LifetimesReport& report, const Recording& recording) {
  const LifetimesOptions& options = report.options;
  const auto places = lifetime_groups(recording, LifetimeGrouping::kFreeStack, options.selection);
  std::vector<std::uint32_t> all;
  for (const LifetimeGroup& place : places) {
    all.insert(all.end(), place.samples.begin(), place.samples.end());
  }
  const auto whole = sums_of_samples(recording, all);
  report.freed_at_count = places.size();
  for (std::size_t i = 0; i < shown_of(places.size(), options.top); ++i) {
    const LifetimeGroup& place = places[i];
    report.freed_at.push_back(
        {place.name, place.detail, place.stack, place.where, place.samples.size(),
         present::share_of(sums_of_samples(recording, place.samples), whole, options.level)});
  }
}

void count_what_is_missing(LifetimesReport& report, const Recording& recording,
                           const LifetimeGroup& whole) {
  for (const std::uint32_t index : whole.samples) {
    report.unseen_frees += recording.samples[index].free_unseen;
  }
  report.allocated_before = static_cast<std::uint64_t>(std::ranges::count_if(
      recording.samples,
      [](const profile::Sample& sample) { return !is_allocation_seen(sample); }));
  for (const profile::Process& process : recording.processes) {
    report.dropped_frees += count_of(process.drops, vocabulary::DropCause::kLiveTableFull);
  }
}

/// Adds the samples of which filters cannot tell to the upper limit of what was allocated: no curve
/// has them.
void add_open(estimation::Estimate& bytes, const Recording& recording,
              const LifetimesOptions& options) {
  profile::Selection allocated;
  allocated.from = options.selection.allocated_in.from;
  allocated.to = options.selection.allocated_in.to;
  allocated.keeps = options.selection.keeps;
  const profile::Profile open = open_of(profile::select(recording, allocated));
  if (open.entries.empty()) return;
  const auto more = estimation::estimate_bytes(total(recording, open), options.level);
  bytes.open = more.value;
  bytes.interval.hi += more.interval.hi;
}

}  // namespace

LifetimesReport lifetimes_report(const Recording& recording, const LifetimesOptions& options) {
  LifetimesReport report;
  report.options = options;
  auto whole = lifetime_groups(recording, LifetimeGrouping::kWhole, options.selection);
  const bool is_empty = whole.empty();
  if (is_empty) whole.emplace_back();
  report.whole = line_of(recording, whole.front(), options);
  add_open(report.whole.allocated.bytes, recording, options);
  if (is_empty) return report;
  count_what_is_missing(report, recording, whole.front());
  if (options.by != LifetimeGrouping::kWhole) {
    const auto groups = lifetime_groups(recording, options.by, options.selection);
    report.groups = groups.size();
    for (std::size_t i = 0; i < shown_of(groups.size(), options.top); ++i) {
      report.lines.push_back(line_of(recording, groups[i], options));
    }
  }
  add_free_places(report, recording);
  return report;
}

std::string_view name_of(LifetimeGrouping by) {
  switch (by) {
    case LifetimeGrouping::kWhole:
      return "none";
    case LifetimeGrouping::kFunction:
      return "function";
    case LifetimeGrouping::kStack:
      return "stack";
    case LifetimeGrouping::kFreeStack:
      return "free stack";
    case LifetimeGrouping::kThread:
      return "thread";
    case LifetimeGrouping::kSize:
      return "size";
  }
  return "";
}

}  // namespace geiger::report
