#include "analysis/report/lives/lifetimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/select/totals.h"

namespace geiger::present {

using estimation::SurvivalStep;
using Quantile = estimation::SurvivalCurve::Quantile;

const Fields<Quantile>& fields_of(Of<Quantile> /*type*/) {
  const auto whole = [](std::optional<double> Quantile::*length) {
    return [length](const Quantile& it) {
      return if_true((it.*length).has_value(), whole_number((it.*length).value_or(0)));
    };
  };
  static const auto kFields =
      Fields<Quantile>()
          .field("value_ns", "absent of what the recording is too short for",
                 whole(&Quantile::value))
          .field("lo_ns", "", whole(&Quantile::lo))
          .field("hi_ns", "", whole(&Quantile::hi));
  return kFields;
}

static const Fields<SurvivalStep>& fields_of(Of<SurvivalStep> /*type*/) {
  static const auto kFields =
      Fields<SurvivalStep>()
          .field("ns", "", [](const SurvivalStep& it) { return whole_number(it.length); })
          .field("alive", "the share just after it", &SurvivalStep::alive)
          .field("lo", "", [](const SurvivalStep& it) { return it.band.lo; })
          .field("hi", "", [](const SurvivalStep& it) { return it.band.hi; })
          .field("at_risk", "weight of what lived at least as long", &SurvivalStep::at_risk);
  return kFields;
}

}  // namespace geiger::present

namespace geiger::report {

namespace {

using estimation::SurvivalCurve;
using present::Fields;
using present::InRecording;
using present::Of;
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

/// Adds the samples that filters cannot decide about to the upper limit of what was allocated: no
/// curve has them.
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

/// By when a share of the objects was freed.
struct FreedShare {
  double freed;
  SurvivalCurve::Quantile after;
};

const Fields<FreedShare>& fields_of(Of<FreedShare> /*type*/) {
  static const auto kFields =
      Fields<FreedShare>()
          .field("freed", "0.25, 0.5, 0.75, 0.9 or 0.99", &FreedShare::freed)
          .inlined(&FreedShare::after);
  return kFields;
}

std::vector<FreedShare> freed_shares(const LifetimeFigures& figures) {
  std::vector<FreedShare> shares;
  for (const double freed : kFreedShares) {
    shares.push_back({freed, figures.quantiles[shares.size()]});
  }
  return shares;
}

bool has_lines(const LifetimesReport& report) {
  return std::ranges::any_of(report.lines,
                             [](const LifetimeLine& line) { return !line.where.file.empty(); });
}

profile::GroupBy rows_like(const LifetimeRow& row) {
  return present::named_like(row.report.options.by);
}

present::Figure quantile_figure(const LifetimeRow& row, std::size_t quantile) {
  return length_figure(row.it.bytes.quantiles[quantile], row.it.bytes.longest);
}

}  // namespace

LifetimesReport lifetimes_report(const Recording& recording, const LifetimesOptions& options) {
  LifetimesReport report;
  report.options = options;
  report.absent = present::absent_modules(recording);
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
  constexpr std::string_view kNames[] = {"none",   "function", "stack", "free stack",
                                         "thread", "size",     "line",  "type"};
  return present::name_among(kNames, by);
}

std::vector<LifetimeRow> rows_of(const LifetimesReport& report, const Recording* recording) {
  std::vector<LifetimeRow> rows;
  for (const LifetimeLine& line : report.lines) rows.push_back({line, report, recording});
  return rows;
}

static const Fields<LifetimeFigures>& fields_of(Of<LifetimeFigures> /*type*/) {
  static const auto kFields =
      Fields<LifetimeFigures>("survival", "A survival curve.")
          .field("longest_ns", "longest life watched; the curve says nothing beyond",
                 [](const LifetimeFigures& it) { return present::whole_number(it.longest); })
          .field("quantiles", "by when so much was freed", &freed_shares)
          .field("temporary", "freed within `temporary_ns`", &LifetimeFigures::temporary)
          .field("step_count", "lengths at which something was freed", &LifetimeFigures::step_count)
          .field("steps", "at most 200 of them, spread evenly by rank", &LifetimeFigures::steps);
  return kFields;
}

/// Where the terminal is narrow, where objects are freed goes first, then the lines go after the
/// names, then figures from the right.
const Fields<LifetimeRow>& fields_of(Of<LifetimeRow> /*type*/) {
  using present::Cells;
  static const auto kFields =
      Fields<LifetimeRow>("lifetime_group", "Objects that belong together, and how long they live.")
          .inlined([](const LifetimeRow& row) {
            return present::Named{row.it.name, present::is_named_by_functions(rows_like(row))};
          })
          .field("detail", "as rows of `table` have it", &LifetimeLine::detail)
          .inlined(&LifetimeLine::where)
          .field("allocated", "", &LifetimeLine::allocated)
          .column(Cells::kFigure, "allocated", 1,
                  [](const LifetimeRow& row) {
                    return present::figure(row.it.allocated.bytes, present::Quantity::kBytes);
                  })
          .only_column(
              Cells::kNumber, "samples", 2,
              [](const LifetimeRow& row) { return present::exact_count(row.it.allocated.samples); })
          .only_column(Cells::kFigure, "median", present::kStays,
                       [](const LifetimeRow& row) { return quantile_figure(row, kMedian); })
          .only_column(Cells::kNumber, "90 % after", 3,
                       [](const LifetimeRow& row) { return quantile_figure(row, kNinety).text(); })
          .only_column(
              Cells::kFigure, "temporary", 4,
              [](const LifetimeRow& row) { return present::figure(row.it.bytes.temporary); })
          .field("freed_samples", "", &LifetimeLine::freed_samples)
          .field("never_freed", "of the bytes allocated", &LifetimeLine::never_freed)
          .field("freed_by_other_thread", "of the freed bytes, where known",
                 &LifetimeLine::other_thread)
          .column(Cells::kNumber, "other thread", 6,
                  [](const LifetimeRow& row) {
                    return row.it.other_thread ? present::figure(*row.it.other_thread).text() : "-";
                  })
          .field("freed_on_other_cpu", "of the freed bytes, where known", &LifetimeLine::other_cpu)
          .field("over_bytes", "", &LifetimeLine::bytes)
          .field("over_objects", "", &LifetimeLine::objects)
          .inlined([](const LifetimeRow& row) {
            return present::stack_of(*row.recording, row.it.stack);
          })
          .only_column(
              Cells::kName, [](const LifetimeRow& row) { return name_of(row.report.options.by); },
              present::kStays,
              [](const LifetimeRow& row) { return present::printable(row.it.name); })
          .only_column(
              Cells::kText, "where",
              [](const LifetimeRow& row) { return has_lines(row.report) ? 5 : present::kAbsent; },
              [](const LifetimeRow& row) {
                return present::where_cell(row.it.where, row.it.detail, rows_like(row));
              });
  return kFields;
}

static const Fields<InRecording<FreedAt>>& fields_of(Of<InRecording<FreedAt>> /*type*/) {
  static const auto kFields =
      Fields<InRecording<FreedAt>>("freed_at")
          .inlined([](const FreedAt& it) { return present::Named{it.name}; })
          .field("detail", "as rows of `table` have it", &FreedAt::detail)
          .inlined(&FreedAt::where)
          .field("samples", "", &FreedAt::samples)
          .field("share", "of the freed bytes whose place is known", &FreedAt::share)
          .inlined([](const InRecording<FreedAt>& it) {
            return present::StackOf{it.recording, it.it.stack};
          });
  return kFields;
}

const Fields<InRecording<LifetimesReport>>& fields_of(Of<InRecording<LifetimesReport>> /*type*/) {
  using Document = InRecording<LifetimesReport>;
  static const auto kFields =
      Fields<Document>("lifetimes")
          .field("level", "confidence level of all intervals",
                 [](const LifetimesReport& it) { return it.options.level; })
          .field("by", "what a group is",
                 [](const LifetimesReport& it) { return name_of(it.options.by); })
          .one_of({"function", "stack", "thread", "size", "none"})
          .field("observed_only", "of objects that were freed alone: biased towards short lives",
                 [](const LifetimesReport& it) { return it.options.selection.observed_only; })
          .field("temporary_ns", "lives up to this are temporary",
                 [](const LifetimesReport& it) { return it.options.temporary; })
          .inlined([](const LifetimesReport& it) { return it.options.scope; })
          .field("unseen_frees",
                 "samples whose free was noticed only when the address came back: upper limits",
                 &LifetimesReport::unseen_frees)
          .field("dropped_frees", "that could not be recorded: their objects count as alive",
                 &LifetimesReport::dropped_frees)
          .field("allocated_before", "samples of segments that are missing: not in the curves",
                 &LifetimesReport::allocated_before)
          .field("whole", "everything together",
                 [](const Document& it) {
                   return LifetimeRow{it.it.whole, it.it, &it.recording};
                 })
          .field("group_count", "groups before `--top`", &LifetimesReport::groups)
          .field("groups", "the largest first",
                 [](const Document& it) { return rows_of(it.it, &it.recording); })
          .field("freed_at_count", "places before `--top`", &LifetimesReport::freed_at_count)
          .field("freed_at", "with `run --free-stacks`: places that free, by their share",
                 [](const Document& it) { return present::each_of(it.it.freed_at, it.recording); });
  return kFields;
}

std::string to_json(const LifetimesReport& report, const Recording& recording) {
  return present::document("lifetimes", report, recording);
}

namespace {

std::string length_text(double nanoseconds) {
  const double cut = std::clamp(nanoseconds, 0.0, 0x1p62);
  return present::duration(present::whole_number(cut));
}

}  // namespace

present::Figure length_figure(const estimation::SurvivalCurve::Quantile& quantile, double longest) {
  if (!quantile.value && !(longest > 0)) return {"-", ""};  // Nothing was watched.
  const std::string value =
      quantile.value ? length_text(*quantile.value) : "> " + length_text(longest);
  const double lo = quantile.lo.value_or(longest);
  const double hi = quantile.hi.value_or(longest);
  const bool is_point =
      quantile.value ? quantile.hi && lo == *quantile.value && hi == lo : lo >= longest;
  if (is_point) return {value, ""};
  return {value, fmt::format("[{}, {}]", length_text(lo), quantile.hi ? length_text(hi) : "…")};
}

}  // namespace geiger::report
