#include "analysis/present/function_names.h"
#include "analysis/report/plan/plan.h"

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
