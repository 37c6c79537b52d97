#include "analysis/report/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/present/charts/chart.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/totals.h"
#include "base/check.h"
#include "estimation/planning.h"

namespace geiger::report {

namespace {

using estimation::Objects;
using profile::Recording;

constexpr Bytes kDefaultInterval = 512 * kKiB;
constexpr std::size_t kFunctionsShown = 8;

/// Small objects, the hardest case: the relative error of N bytes is sqrt(T/N).
Outlook outlook(double bytes, double interval) {
  const std::vector<Objects> bytewise{{1, bytes}};
  const estimation::Expected expected = estimation::expected(bytewise, interval, false);
  return {bytes, expected.samples + expected.certain, expected.chance, expected.relative_error};
}

std::optional<double> interval_for(double samples, const std::optional<double>& bytes) {
  if (!bytes) return std::nullopt;
  return std::max(1.0, *bytes / samples);
}

std::vector<Goal> goals_of(const PlanOptions& options, const std::optional<double>& bytes) {
  std::vector<Goal> goals;
  if (options.change) {
    if (const auto samples =
            estimation::samples_needed(*options.change, options.alpha, options.power)) {
      goals.push_back({Goal::Kind::kChange, *samples, interval_for(*samples, bytes)});
    }
  }
  if (options.precision) {
    if (const auto samples = estimation::samples_for_precision(*options.precision, options.level)) {
      goals.push_back({Goal::Kind::kPrecision, *samples, interval_for(*samples, bytes)});
    }
  }
  return goals;
}

/// The largest interval that reaches all goals.
std::optional<double> smallest(const std::vector<Goal>& goals) {
  std::optional<double> least;
  for (const Goal& goal : goals) {
    if (goal.interval) least = std::min(least.value_or(*goal.interval), *goal.interval);
  }
  return least;
}

/// The largest requested interval that reaches all goals, else the smallest one.
Bytes chosen_of(const std::vector<Bytes>& intervals, const std::optional<double>& derived) {
  Bytes chosen = intervals.front();
  for (const Bytes interval : intervals) {
    if (derived && static_cast<double>(interval) <= *derived) chosen = interval;
  }
  return chosen;
}

void choose_interval(PlanReport& report, double otherwise) {
  const auto derived = smallest(report.goals);
  const std::vector<Bytes>& asked = report.options.intervals;
  report.is_interval_derived = asked.empty() && derived.has_value();
  if (!asked.empty()) {
    report.interval = static_cast<double>(chosen_of(asked, derived));
  } else {
    report.interval = derived ? estimation::round_interval(*derived) : otherwise;
  }
}

/// Sizes of sites around the interval; without goals those of the figures.
void look_out(PlanReport& report) {
  const double interval = report.interval;
  if (report.options.site) report.site = outlook(*report.options.site, interval);
  report.detection_limit =
      estimation::detection_limit(interval > 1 ? interval : 0, report.options.level);
  for (const double multiple : {0.1, 1.0, 1.75, 3.0, 10.0, 100.0, 1000.0, 10000.0}) {
    report.sites.push_back(outlook(std::max(1.0, multiple * interval), interval));
  }
}

/// Sizes of single objects: 1 byte, then powers of 4 up to the largest interval, from
/// which on objects are certain at every interval.
std::vector<Bytes> object_sizes(double largest_interval) {
  std::vector<Bytes> sizes{1};
  for (Bytes size = 16; static_cast<double>(size) < largest_interval && size <= kGiB; size *= 4) {
    sizes.push_back(size);
  }
  return sizes;
}

IntervalOutlook outlook_of_interval(const PlanReport& report, double interval, double largest) {
  IntervalOutlook one;
  one.interval = interval;
  one.detection_limit =
      estimation::detection_limit(interval > 1 ? interval : 0, report.options.level);
  if (report.options.site) one.site = outlook(*report.options.site, interval);
  for (const Bytes size : object_sizes(largest)) {
    one.objects.push_back(
        {size, estimation::error_of_sampled_object(static_cast<double>(size), interval)});
  }
  return one;
}

void compare_intervals(PlanReport& report) {
  std::vector<double> intervals;
  for (const Bytes interval : report.options.intervals) {
    intervals.push_back(static_cast<double>(interval));
  }
  if (intervals.empty()) intervals.push_back(report.interval);
  for (const double interval : intervals) {
    report.intervals.push_back(outlook_of_interval(report, interval, intervals.back()));
  }
}

/// What a function is to blame for.
struct Function {
  std::string name;
  std::vector<Objects> objects;
  estimation::NodeSums sums;
};
using ByLabel = std::map<std::uint32_t, Function>;

Objects objects_of(const profile::Entry& entry, const Recording& recording) {
  const double lambda = recording.epochs[entry.epoch].lambda;
  const bool is_certain = entry.is_certain || std::isinf(lambda);
  const double pi = is_certain ? 1 : estimation::inclusion_probability(entry.requested, lambda);
  return {static_cast<double>(entry.requested), pi > 0 ? static_cast<double>(entry.count) / pi : 0};
}

ByLabel group(const Recording& recording, const profile::Profile& allocated) {
  profile::ShownPath shown(recording);
  ByLabel functions;
  for (const profile::Entry& entry : allocated.entries) {
    shown.of(entry.stack);
    const std::uint32_t label = shown.path().front();
    Function& function = functions[label];
    function.name = shown.labels()[label].name;
    function.sums.could_have_sampled(allocated.largest_interval);
    function.objects.push_back(objects_of(entry, recording));
    accumulate(function.sums, entry, recording, allocated);
  }
  return functions;
}

std::vector<Objects> all_objects(const Recording& recording, const profile::Profile& allocated) {
  std::vector<Objects> objects;
  for (const profile::Entry& entry : allocated.entries) {
    objects.push_back(objects_of(entry, recording));
  }
  return objects;
}

std::vector<FunctionOutlook> functions_of(const PlanReport& report, const Recording& recording,
                                          const profile::Profile& allocated) {
  std::vector<FunctionOutlook> functions;
  const bool is_pure = recording.processes.front().is_pure;
  for (const auto& [label, function] : group(recording, allocated)) {
    functions.push_back({function.name, present::measure_row(function.sums, report.options.level),
                         estimation::expected(function.objects, report.interval, is_pure),
                         smallest(goals_of(report.options, function.sums.all_bytes()))});
  }
  std::ranges::sort(functions, [](const FunctionOutlook& a, const FunctionOutlook& b) {
    if (a.now.bytes.value != b.now.bytes.value) return a.now.bytes.value > b.now.bytes.value;
    return a.name < b.name;
  });
  if (functions.size() > kFunctionsShown) functions.resize(kFunctionsShown);
  return functions;
}

RunOutlook outlook_of(const PlanReport& report, const Recording& recording,
                      const profile::Profile& allocated) {
  RunOutlook run;
  run.duration = profile::duration_of(recording);
  run.interval = recording.processes.front().interval;
  run.allocated = present::measure_total(total(recording, allocated), report.options.level);
  run.exact_bytes = static_cast<double>(profile::all_totals(recording).exact_bytes);
  run.expected = estimation::expected(all_objects(recording, allocated), report.interval,
                                      recording.processes.front().is_pure);
  const double seconds = static_cast<double>(run.duration) / 1e9;
  if (seconds > 0) run.events_per_second = (run.expected.samples + run.expected.certain) / seconds;
  run.functions = functions_of(report, recording, allocated);
  return run;
}

[[maybe_unused]] bool are_in_range(const PlanOptions& options) {
  const auto is_share = [](double value) { return value > 0 && value < 1; };
  return is_share(options.alpha) && is_share(options.power) && is_share(options.level) &&
         options.site.value_or(1) > 0 && options.change.value_or(1) > -1 &&
         options.precision.value_or(1) > 0 && std::ranges::is_sorted(options.intervals) &&
         (options.intervals.empty() || options.intervals.front() >= 1);
}

}  // namespace

PlanReport plan_report(const PlanOptions& options) {
  GEIGER_ASSERT(are_in_range(options));
  PlanReport report;
  report.options = options;
  report.goals = goals_of(options, options.site);
  choose_interval(report, kDefaultInterval);
  look_out(report);
  compare_intervals(report);
  return report;
}

PlanReport plan_report(const PlanOptions& options, const Recording& recording) {
  GEIGER_ASSERT(are_in_range(options));
  if (recording.processes.empty()) return plan_report(options);
  const profile::Profile allocated = select(recording, profile::Kind::kAllocated);
  PlanReport report;
  report.options = options;
  if (!report.options.site) {
    const auto exact = static_cast<double>(profile::all_totals(recording).exact_bytes);
    if (exact > 0) report.options.site = exact;
    report.is_site_the_run = exact > 0;
  }
  report.goals = goals_of(options, report.options.site);
  choose_interval(report,
                  static_cast<double>(std::max<Bytes>(1, recording.processes.front().interval)));
  look_out(report);
  compare_intervals(report);
  report.run = outlook_of(report, recording, allocated);
  const std::vector<Objects> objects = all_objects(recording, allocated);
  for (IntervalOutlook& one : report.intervals) {
    one.run = estimation::expected(objects, one.interval, recording.processes.front().is_pure);
  }
  return report;
}

namespace {

constexpr int kPoints = 160;

std::string size_text(double bytes) { return present::exact_bytes(present::whole_number(bytes)); }

double error_of(double interval, double bytes) {
  const std::vector<estimation::Objects> bytewise{{1, bytes}};
  return estimation::expected(bytewise, interval, false).relative_error;
}

double least_interval(const PlanReport& report) { return report.intervals.front().interval; }
double most_interval(const PlanReport& report) { return report.intervals.back().interval; }

/// A logarithmic axis of bytes with a tick at every `step`-fold of its least.
present::Axis bytes_axis(std::string label, double least, double most, double step) {
  present::Axis axis{std::move(label), least, most, true, {}};
  for (double bytes = least; bytes <= most * 1.0001; bytes *= step) {
    axis.ticks.push_back({bytes, size_text(bytes)});
  }
  return axis;
}

/// A curve for each interval through `y(interval, x)` at points along the axis.
template <typename Height>
void add_curves(present::Chart& chart, const PlanReport& report, const Height& y) {
  const present::Axis& axis = chart.x;
  for (const IntervalOutlook& one : report.intervals) {
    present::Curve curve{size_text(one.interval), {}};
    for (int i = 0; i <= kPoints; ++i) {
      const double place = static_cast<double>(i) / kPoints;
      const double x = axis.is_logarithmic ? axis.least * std::pow(axis.most / axis.least, place)
                                           : axis.least + (axis.most - axis.least) * place;
      if (const double height = y(one.interval, x); height > 0 || !chart.y.is_logarithmic) {
        curve.points.push_back({x, height});
      }
    }
    chart.curves.push_back(std::move(curve));
  }
}

}  // namespace

present::Chart chance_chart(const PlanReport& report) {
  constexpr double kMost = 6;
  const bool is_one = report.intervals.size() == 1;
  present::Chart chart;
  chart.title = "chance to see N bytes";
  if (is_one) {
    chart.x = {
        fmt::format("N, in intervals of {}", size_text(report.interval)), 0, kMost, false, {}};
    for (int i = 0; i <= 6; ++i) chart.x.ticks.push_back({double(i), std::to_string(i)});
  } else {
    chart.x = bytes_axis("N", least_interval(report) / 10, most_interval(report) * 10, 10);
  }
  chart.y = {"chance, %", 0, 100, false, {{0, "0 %"}, {50, "50 %"}, {100, "100 %"}}};
  add_curves(chart, report, [&](double interval, double x) {
    return 100 * estimation::chance_to_see(is_one ? x * interval : x, interval);
  });
  chart.reference = 95;
  return chart;
}

present::Chart error_chart(const PlanReport& report) {
  present::Chart chart;
  chart.title = "relative error of N bytes";
  const double step = report.intervals.size() == 1 ? 10 : 1000;
  chart.x = bytes_axis("N", least_interval(report), 1e4 * most_interval(report), step);
  chart.y = {"standard deviation, %", 1, 100, true, {{1, "1 %"}, {10, "10 %"}, {100, "100 %"}}};
  add_curves(chart, report,
             [](double interval, double bytes) { return 100 * error_of(interval, bytes); });
  return chart;
}

present::Chart object_chart(const PlanReport& report) {
  constexpr double kLeastError = 0.1;
  const double most = std::max(2.0, most_interval(report));
  present::Chart chart;
  chart.title = "error of one sampled object";
  chart.x = bytes_axis("its size", 1, most, 64);
  chart.y = {"error over size", kLeastError, most, true, {}};
  for (int power = -1; std::pow(10, power) <= most; power += 2) {
    chart.y.ticks.push_back({std::pow(10, power), power < 3
                                                      ? fmt::format("{:g}", std::pow(10, power))
                                                      : fmt::format("1e{}", power)});
  }
  add_curves(chart, report, [](double interval, double size) {
    return estimation::error_of_sampled_object(size, interval);
  });
  return chart;
}

std::string to_svg(const PlanReport& report) {
  present::Sheet sheet;
  sheet.title = report.intervals.size() == 1
                    ? fmt::format("What an interval of {} shows", size_text(report.interval))
                    : "What these intervals show";
  sheet.subtitle =
      "small objects in the first two; of larger ones the chance is the same and the error smaller";
  sheet.reference_name = "95 % (three intervals)";
  sheet.columns = 2;
  sheet.charts = {chance_chart(report), error_chart(report), object_chart(report)};
  return present::draw_svg(sheet);
}

}  // namespace geiger::report

namespace geiger::present {

static const Fields<estimation::Expected>& fields_of(Of<estimation::Expected> /*type*/) {
  using estimation::Expected;
  static const auto kFields =
      Fields<Expected>("expected", "Of what was recorded, once more with the interval.")
          .field("samples", "drawn", &Expected::samples)
          .field("certain_samples", "", &Expected::certain)
          .field("chance", "of at least one of either", &Expected::chance)
          .field("relative_error", "", &Expected::relative_error)
          .or_null();
  return kFields;
}

}  // namespace geiger::present

namespace geiger::report {

using present::Fields;
using present::Of;

static const Fields<Goal>& fields_of(Of<Goal> /*type*/) {
  static const auto kFields =
      Fields<Goal>("goal")
          .field("goal", "",
                 [](const Goal& it) {
                   return it.kind == Goal::Kind::kChange ? "change" : "precision";
                 })
          .one_of({"change", "precision"})
          .field("samples_needed", "at the site", &Goal::samples)
          .field("largest_interval", "that reaches it at the site; 1: all must be recorded",
                 &Goal::interval);
  return kFields;
}

static const Fields<Outlook>& fields_of(Of<Outlook> /*type*/) {
  static const auto kFields =
      Fields<Outlook>("outlook", "A site of small objects, at the interval of the plan.")
          .field("bytes", "", &Outlook::bytes)
          .field("samples", "expected", &Outlook::samples)
          .field("chance", "of at least one sample", &Outlook::chance)
          .field("relative_error", "expected standard deviation over bytes",
                 &Outlook::relative_error)
          .or_null();
  return kFields;
}

static const Fields<ObjectError>& fields_of(Of<ObjectError> /*type*/) {
  static const auto kFields =
      Fields<ObjectError>("object_error", "How far a sampled object is from what it stands for.")
          .field("bytes", "", &ObjectError::bytes)
          .field("relative_error", "0: certain", &ObjectError::relative_error);
  return kFields;
}

static const Fields<IntervalOutlook>& fields_of(Of<IntervalOutlook> /*type*/) {
  static const auto kFields =
      Fields<IntervalOutlook>("interval_outlook")
          .field("interval", "", &IntervalOutlook::interval)
          .field("detection_limit_bytes", "any site without samples allocated less",
                 &IntervalOutlook::detection_limit)
          .field("site", "", &IntervalOutlook::site)
          .field("expected", "", &IntervalOutlook::run)
          .field("objects", "", &IntervalOutlook::objects);
  return kFields;
}

static const Fields<FunctionOutlook>& fields_of(Of<FunctionOutlook> /*type*/) {
  static const auto kFields =
      Fields<FunctionOutlook>("function_outlook")
          .inlined([](const FunctionOutlook& it) { return present::Named{it.name}; })
          .inlined(&FunctionOutlook::now)
          .field("expected", "", &FunctionOutlook::expected)
          .field("largest_interval", "that reaches all goals here",
                 &FunctionOutlook::goal_interval);
  return kFields;
}

static const Fields<RunOutlook>& fields_of(Of<RunOutlook> /*type*/) {
  static const auto kFields =
      Fields<RunOutlook>("run_outlook", "The run, recorded again.")
          .field("duration_ns", "", &RunOutlook::duration)
          .field("interval", "of its first process", &RunOutlook::interval)
          .field("exact_bytes", "", &RunOutlook::exact_bytes)
          .field("allocated", "", &RunOutlook::allocated)
          .field("expected", "", &RunOutlook::expected)
          .field("events_per_second", "samples and certain objects", &RunOutlook::events_per_second)
          .field("functions", "", &RunOutlook::functions);
  return kFields;
}

static const Fields<CostModel>& fields_of(Of<CostModel> /*type*/) {
  static const auto kFields = Fields<CostModel>("cost", "Of a sample and its free.")
                                  .field("least_seconds", "", &CostModel::least_seconds)
                                  .field("most_seconds", "", &CostModel::most_seconds)
                                  .field("least_trace_bytes", "", &CostModel::least_trace_bytes)
                                  .field("most_trace_bytes", "", &CostModel::most_trace_bytes);
  return kFields;
}
const Fields<PlanReport>& fields_of(Of<PlanReport> /*type*/) {
  static const auto kFields =
      Fields<PlanReport>("plan")
          .field("level", "", [](const PlanReport& it) { return it.options.level; })
          .field("power", "probability of finding the change",
                 [](const PlanReport& it) { return it.options.power; })
          .field("alpha", "probability of finding one where nothing changed",
                 [](const PlanReport& it) { return it.options.alpha; })
          .field("change", "to find", [](const PlanReport& it) { return it.options.change; })
          .field("precision", "to reach", [](const PlanReport& it) { return it.options.precision; })
          .field("interval", "of the plan", &PlanReport::interval)
          .field("is_interval_derived", "from the goals", &PlanReport::is_interval_derived)
          .field("detection_limit_bytes", "any site without samples allocated less",
                 &PlanReport::detection_limit)
          .field("goals", "", &PlanReport::goals)
          .field("cost_per_sample", "", &PlanReport::cost)
          .field("site", "the one of interest", &PlanReport::site)
          .field("sites", "of growing sizes", &PlanReport::sites)
          .field("intervals", "the plan's, or all that were asked for", &PlanReport::intervals)
          .field("run", "with the sizes of a run", &PlanReport::run);
  return kFields;
}

std::string to_json(const PlanReport& report) { return present::document("plan", report); }

}  // namespace geiger::report
