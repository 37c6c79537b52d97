#include "analysis/report/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/profile/frames/shown_path.h"
#include "analysis/profile/peak.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/totals.h"
#include "base/check.h"
#include "estimation/precision.h"

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

}  // namespace geiger::report
