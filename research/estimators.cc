#include "research/estimators.h"

#include <algorithm>
#include <cmath>

#include "analysis/profile/groups/view.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/totals.h"
#include "estimation/distributions/negative_binomial.h"
#include "research/intervals.h"
#include "research/recorded_designs.h"

namespace geiger::research {
namespace {

using estimation::Checked;
using estimation::Estimate;
using estimation::Interval;
using profile::Recording;

constexpr std::size_t kSites = 3;
constexpr std::size_t kSizes = 5;

std::optional<Interval> shifted(const Checked<Interval>& interval, double by) {
  if (!interval.has_value()) return std::nullopt;
  return Interval{interval.value().lo + by, interval.value().hi + by};
}

/// Of `hits` successes and `untried` bytes, certain ones added. Trials of several
/// intervals have no negative binomial law.
std::optional<Interval> trials_interval(const Designs& designs, std::uint64_t hits, double untried,
                                        double level, estimation::Window window) {
  if (!designs.interval) return std::nullopt;
  return shifted(estimation::failed_trials_interval(
                     hits, untried, static_cast<double>(*designs.interval), level, window),
                 designs.designs.certain_bytes);
}

std::optional<Interval> normal(const Unbiased& sum, double least, double level) {
  if (!(sum.variance > 0)) return std::nullopt;
  return shifted(normal_interval(sum.value, sum.variance, level, least), 0);
}

EstimatorLine ours(const Estimate& estimate, std::string_view why) {
  return {"horvitz_thompson", "Horvitz-Thompson",
          estimate.value,     estimate.variance,
          estimate.interval,  "FF-SG",
          std::nullopt,       why};
}

EstimatorLine unbiased(std::string_view key, std::string_view name, const Unbiased& sum,
                       std::optional<Interval> interval, std::string_view interval_by,
                       std::string_view why) {
  // An interval that has no answer is still named, by what it would have been.
  return {key, name, sum.value, sum.variance, interval, interval_by, std::nullopt, why};
}

EstimatorLine biased(std::string_view key, std::string_view name, double value,
                     std::string_view why) {
  return {key, name, value, std::nullopt, std::nullopt, "", std::nullopt, why};
}

std::vector<EstimatorLine> bytes_lines(const Designs& designs, double level) {
  const DesignSums& sums = designs.designs;
  const auto draws = static_cast<double>(sums.draws);
  return {
      ours(estimation::estimate_bytes(designs.sums, level), "least variance; ours, .NET 1, Go"),
      unbiased(
          "failed_trials", "failed trials s q/p + u", sums.failed_trials,
          trials_interval(designs, sums.samples, sums.untried, level, estimation::Window::kFixed),
          "NB (s, s+1)", "noise of offsets; .NET 2, TCMalloc's W"),
      unbiased("draw_counting", "draws times T", sums.drawn,
               trials_interval(designs, sums.draws, draws, level, estimation::Window::kFixed),
               "NB (D, D+1)", "forgets sizes; Memray, heapprofd"),
      unbiased("unskewed_usable", "usable bytes a W/r", sums.usable,
               normal(sums.usable, sums.certain_usable + sums.usable_seen, level), "normal",
               "of the bytes handed out; TCMalloc"),
      biased("rounded_weight", "W in whole objects", sums.rounded_bytes,
             "-13 % near 2 T; TCMalloc's profile"),
      biased("average_size", "by average size", designs.by_average_size.bytes,
             "low where sizes mix; jeprof"),
      biased("naive", "samples times T", sums.naive_bytes, "counts an object of 4 T as T"),
  };
}

std::vector<EstimatorLine> objects_lines(const Designs& designs, double level) {
  const DesignSums& sums = designs.designs;
  const double seen = sums.certain_objects + static_cast<double>(sums.samples);
  return {
      ours(estimation::estimate_objects(designs.sums, level), "given the sizes seen"),
      unbiased("failed_trials", "failed trials W/z", sums.failed_trials_objects,
               normal(sums.failed_trials_objects, seen, level), "normal",
               "adds the noise of offsets"),
      unbiased("draw_counting", "draws times T/z", sums.drawn_objects,
               normal(sums.drawn_objects, seen, level), "normal", "Memray itself counts samples"),
      biased("rounded_weight", "W in whole objects", sums.rounded_objects, "rounds"),
      biased("average_size", "by average size", designs.by_average_size.objects,
             "small ones vanish beside large ones"),
      biased("naive", "T/z per sample", sums.naive_objects, "too few large objects"),
  };
}

EstimatorTable table_of(const Designs& designs, double level) {
  EstimatorTable table;
  table.samples = designs.sums.samples;
  table.certain_samples = designs.sums.certain_samples;
  table.bytes = bytes_lines(designs, level);
  table.objects = objects_lines(designs, level);
  const auto average = average_size(designs.sums, level);
  if (average.has_value()) table.average_size = average.value();
  return table;
}

/// Usable bytes are not what was counted.
void compare_with_exact(EstimatorTable& table, Bytes exact) {
  if (exact == 0) return;
  for (EstimatorLine& line : table.bytes) {
    if (line.key != "unskewed_usable") line.error = line.value / static_cast<double>(exact) - 1;
  }
}

std::vector<IntervalLine> intervals_of(const Designs& designs, double level) {
  const DesignSums& sums = designs.designs;
  const double certain = sums.certain_bytes;
  const auto trials = [&](estimation::Window window) {
    return trials_interval(designs, sums.samples, sums.untried, level, window);
  };
  std::optional<Interval> camp_paulson;
  if (designs.interval) {
    camp_paulson = shifted(camp_paulson_interval(sums.samples, sums.untried,
                                                 static_cast<double>(*designs.interval), level),
                           certain);
  }
  const Unbiased weighted{designs.sums.weighted_bytes, designs.sums.bytes_variance};
  std::optional<Interval> plain = normal(weighted, 0, level);
  if (plain) plain = Interval{plain->lo + certain, plain->hi + certain};
  return {
      {"ff_sg",
       "FF-SG",
       estimation::estimate_bytes(designs.sums, level).interval,
       {},
       "holds for every number and mix of sizes; ours"},
      {"negative_binomial_s_s",
       "NB (s, s)",
       trials(estimation::Window::kUpToSample),
       {},
       "for windows ending at a sample; else down to 38 %"},
      {"negative_binomial_s_s1",
       "NB (s, s+1)",
       trials(estimation::Window::kFixed),
       {},
       "right for small objects, one T; wide for large ones"},
      {"camp_paulson",
       "Camp-Paulson",
       camp_paulson,
       {},
       "approximates the line above; low end half at s = 1"},
      {"normal", "normal", plain, {}, "for hundreds of samples; covers 3 % at worst"},
  };
}

void compare_with_exact(std::vector<IntervalLine>& lines, Bytes exact) {
  const auto bytes = static_cast<double>(exact);
  for (IntervalLine& line : lines) {
    if (line.interval) line.holds = line.interval->lo <= bytes && bytes <= line.interval->hi;
  }
}

std::vector<SizeLine> sizes_of(const Recording& recording, const profile::Chosen& chosen,
                               double level) {
  std::vector<SizeLine> lines;
  for (const SizeSamples& seen : most_sampled_sizes(recording, chosen, kSizes)) {
    const profile::Epoch& epoch = recording.epochs[seen.epoch];
    const auto interval = same_size_objects_interval(seen.samples, seen.size, epoch.lambda, level);
    if (!interval.has_value()) continue;
    estimation::NodeSums sums;
    sums.add(seen.size, epoch.lambda, seen.samples);
    lines.push_back({seen.size,
                     epoch.interval,
                     {sums.objects, sums.objects_variance, interval.value(), seen.samples, 0}});
  }
  return lines;
}

std::vector<EstimatorTable> sites_of(const Recording& recording,
                                     const profile::Selection& selection,
                                     const profile::Chosen& chosen, double level) {
  const profile::Profile profile = profile::select(recording, selection);
  const auto rows = profile::table(recording, profile, profile::GroupBy::kStack);
  std::vector<EstimatorTable> sites;
  for (std::size_t i = 0; i < std::min(kSites, rows.size()); ++i) {
    sites.push_back(table_of(designs_of(recording, chosen, rows[i].stack), level));
    sites.back().name = rows[i].name;
    sites.back().detail = rows[i].detail;
  }
  return sites;
}

}  // namespace

EstimatorsReport estimators_report(const Recording& recording, double level,
                                   const profile::Selection& selection,
                                   const present::Scope& scope) {
  const profile::Chosen chosen = profile::choose(recording, selection);
  const Designs whole = designs_of(recording, chosen);
  EstimatorsReport report;
  report.level = level;
  report.kind = selection.kind;
  report.scope = scope;
  const bool is_whole = selection.kind == profile::Kind::kAllocated && !selection.is_part();
  if (is_whole) report.exact = profile::exactly_allocated(recording);
  report.impossible = whole.impossible;
  report.whole = table_of(whole, level);
  report.intervals = intervals_of(whole, level);
  report.sizes = sizes_of(recording, chosen, level);
  report.sites = sites_of(recording, selection, chosen, level);
  if (!report.exact) return report;
  compare_with_exact(report.whole, *report.exact);
  compare_with_exact(report.intervals, *report.exact);
  return report;
}

}  // namespace geiger::research
