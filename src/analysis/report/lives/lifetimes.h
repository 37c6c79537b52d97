// `lifetimes`: how long objects live, and where they are freed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/format.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/recording/recording.h"
#include "estimation/survival.h"

namespace geiger::report {

struct LifetimesOptions {
  profile::LifetimeGrouping by = profile::LifetimeGrouping::kFunction;
  profile::LifetimeSelection selection;
  present::Scope scope;                             ///< What the selection is, in words.
  std::size_t top = 30;                             ///< Groups listed; 0 = all.
  double level = 0.95;                              ///< In (0, 1).
  Nanoseconds temporary = profile::kTemporaryLife;  ///< Lives up to this are temporary.
  std::vector<double> lengths;  ///< To read curves at; those beyond the longest are that.
};

/// The parts of a group freed by the lengths that reports show.
inline constexpr std::array<double, 5> kFreedShares{0.25, 0.5, 0.75, 0.9, 0.99};
inline constexpr std::size_t kMedian = 1, kNinety = 3;

/// Most steps of a curve that a report keeps.
inline constexpr std::size_t kMostSteps = 200;

/// A survival curve in numbers; lengths in nanoseconds.
struct LifetimeFigures {
  std::array<estimation::SurvivalCurve::Quantile, kFreedShares.size()> quantiles;
  present::Share temporary;
  std::vector<estimation::SurvivalStep> steps;  ///< At most kMostSteps, spread evenly.
  std::uint64_t step_count = 0;                 ///< Before thinning.
  std::vector<estimation::SurvivalStep> asked;  ///< At LifetimesOptions::lengths.
  double longest = 0;                           ///< Longest life watched.
};

struct LifetimeLine {
  std::string name, detail;
  std::uint32_t stack = profile::kNone;
  profile::SourceLine where;
  present::Measure allocated;
  std::uint64_t freed_samples = 0;
  present::Share never_freed;  ///< Alive at the end, of what was allocated.
  std::optional<present::Share> other_thread, other_cpu;  ///< Of what was freed and is known.
  LifetimeFigures bytes, objects;
};

/// A place that frees, of the recordings that know: --free-stacks.
struct FreedAt {
  std::string name, detail;
  std::uint32_t stack = profile::kNone;
  profile::SourceLine where;
  std::uint64_t samples = 0;
  present::Share share;  ///< Of the freed bytes whose place is known.
};

struct LifetimesReport {
  LifetimesOptions options;
  LifetimeLine whole;
  std::vector<LifetimeLine> lines;
  std::uint64_t groups = 0;  ///< Before `top`.
  std::vector<FreedAt> freed_at;
  std::uint64_t freed_at_count = 0;  ///< Before `top`.
  std::uint64_t unseen_frees = 0;    ///< Samples whose free was noticed later only.
  std::uint64_t dropped_frees = 0;   ///< Frees that could not be recorded.
  /// Samples of segments that are missing: left out (profile/lives/lifetimes.h).
  std::uint64_t allocated_before = 0;
  std::set<std::string> absent;  ///< present::absent_modules().
};

[[nodiscard]] LifetimesReport lifetimes_report(const profile::Recording& recording,
                                               const LifetimesOptions& options);

[[nodiscard]] std::string to_text(const LifetimesReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const LifetimesReport& report,
                                  const profile::Recording& recording);
/// The curves of the whole with their bands.
[[nodiscard]] std::string to_svg(const LifetimesReport& report);

/// A line, and the report that its fields depend on.
struct LifetimeRow {
  const LifetimeLine& it;
  const LifetimesReport& report;
  const profile::Recording* recording = nullptr;  ///< Not needed for text.
};
[[nodiscard]] const present::Fields<LifetimeRow>& fields_of(present::Of<LifetimeRow> /*type*/);
[[nodiscard]] std::vector<LifetimeRow> rows_of(const LifetimesReport& report,
                                               const profile::Recording* recording = nullptr);
/// What a document of `lifetimes` is made of.
[[nodiscard]] const present::Fields<present::InRecording<LifetimesReport>>& fields_of(
    present::Of<present::InRecording<LifetimesReport>> /*type*/);

/// "none", "function", "stack", "thread", "size".
[[nodiscard]] std::string_view name_of(profile::LifetimeGrouping by);

/// A quantile as text: "1.2 ms [850 us, 1.3 ms]", "> 12 s" of one that the curve does not
/// reach, "[850 us, …]" where its upper limit is open.
[[nodiscard]] present::Figure length_figure(const estimation::SurvivalCurve::Quantile& quantile,
                                            double longest);

}  // namespace geiger::report

namespace geiger::present {

/// "value_ns", "lo_ns" and "hi_ns"; what the curve does not reach has none.
[[nodiscard]] const Fields<estimation::SurvivalCurve::Quantile>& fields_of(
    Of<estimation::SurvivalCurve::Quantile> /*type*/);

}  // namespace geiger::present
