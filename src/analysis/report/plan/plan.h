// `plan`: which interval is needed to see something, what it costs, what a given interval can show;
// its pictures and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/present/charts/chart.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/recording/recording.h"
#include "base/units.h"
#include "estimation/planning.h"

namespace geiger::report {

// `plan`: which interval is needed to see something, what it costs, and what a given interval can
// show.

struct PlanOptions {
  std::optional<double> site;       ///< Bytes of the site of interest, > 0.
  std::optional<double> change;     ///< To find: 0.1 = grows by a tenth. Above -1, not 0.
  std::optional<double> precision;  ///< To reach: 0.05 = the wider side is 5 %. > 0.
  std::vector<Bytes> intervals;     ///< Requested, >= 1, ascending, each once; may be empty.
  double alpha = 0.05;              ///< Of a found change, two-sided.
  double power = 0.8;               ///< To find it.
  double level = 0.95;              ///< Of intervals.
  std::string run;                  ///< As the user named it; may be empty.
};

/// The measured costs of the profiler (docs/internals/estimators.md, section 17).
struct CostModel {
  double least_seconds = 0.2e-6;  ///< Of processor time for a sample and its free.
  double most_seconds = 1.0e-6;
  double least_trace_bytes = 85;  ///< Of a sample in the trace: its stack known already ...
  double most_trace_bytes = 155;  ///< ... or new for one in ten.
};

/// Something to see.
struct Goal {
  enum class Kind : std::uint8_t { kChange, kPrecision };
  Kind kind = Kind::kChange;
  double samples = 0;  ///< Needed at the site.
  /// Largest interval for the site; nothing without a site. 1: only if every
  /// allocation is recorded, which leaves nothing to chance.
  std::optional<double> interval;
};

/// A size of site at the interval of the plan: small objects, the hardest case.
struct Outlook {
  double bytes = 0;
  double samples = 0;         ///< Expected.
  double chance = 0;          ///< Of at least one sample.
  double relative_error = 0;  ///< Expected: standard deviation over bytes.
};

/// A function of the run, recorded again with the interval of the plan.
struct FunctionOutlook {
  std::string name;
  present::Measure now;
  estimation::Expected expected;
  std::optional<double> goal_interval;  ///< That reaches all goals here.
};

/// A sampled object of a size, and how far the bytes that it stands for are from that size.
struct ObjectError {
  Bytes bytes = 0;
  double relative_error = 0;  ///< 0: certain.
};

/// An interval beside others.
struct IntervalOutlook {
  double interval = 0;
  double detection_limit = 0;
  std::optional<Outlook> site;
  std::optional<estimation::Expected> run;  ///< The run, recorded again.
  std::vector<ObjectError> objects;         ///< The same sizes for all intervals, ascending.
};

/// The run, recorded again.
struct RunOutlook {
  Nanoseconds duration = 0;
  Bytes interval = 0;  ///< Of the run, the first process.
  present::Measure allocated;
  double exact_bytes = 0;
  estimation::Expected expected;
  double events_per_second = 0;  ///< Samples and certain objects; 0 if it took no time.
  std::vector<FunctionOutlook> functions;
};

struct PlanReport {
  PlanOptions options;
  CostModel cost;
  std::vector<Goal> goals;
  double interval = 0;  ///< T of the plan: chosen from the requested ones, derived, or default.
  bool is_interval_derived = false;  ///< From goals.
  std::optional<Outlook> site;
  std::vector<Outlook> sites;  ///< In the order of bytes.
  double detection_limit = 0;
  /// `interval`, or all requested ones, ascending.
  std::vector<IntervalOutlook> intervals;
  std::optional<RunOutlook> run;
  bool is_site_the_run = false;  ///< No site was named: the site is the whole run.
};

/// Requires options that are in their ranges.
[[nodiscard]] PlanReport plan_report(const PlanOptions& options);
/// With the sizes of a run: the site is the whole run unless one is named.
[[nodiscard]] PlanReport plan_report(const PlanOptions& options,
                                     const profile::Recording& recording);

[[nodiscard]] std::string to_text(const PlanReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const PlanReport& report);
[[nodiscard]] const present::Fields<PlanReport>& fields_of(present::Of<PlanReport> /*type*/);
[[nodiscard]] std::string to_svg(const PlanReport& report);

// The pictures of a plan, for the terminal and for SVG: a curve for each interval.

/// Chance of at least one sample of N bytes, 1 - e^(-N/T), over N in intervals if there
/// is one, else in bytes.
[[nodiscard]] present::Chart chance_chart(const PlanReport& report);
/// Expected relative error of N bytes of small objects, over N: sqrt(T/N).
[[nodiscard]] present::Chart error_chart(const PlanReport& report);
/// How far what a sampled object stands for is from its size, over its size; up to the
/// largest interval, from where on objects are certain.
[[nodiscard]] present::Chart object_chart(const PlanReport& report);

}  // namespace geiger::report
