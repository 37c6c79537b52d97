#include "analysis/present/function_names.h"
#include "analysis/present/json.h"
#include "analysis/report/plan/plan.h"

namespace geiger::report {
namespace {

void write_optional(present::JsonWriter& json, std::string_view name,
                    const std::optional<double>& value) {
  if (value) json.field(name, *value);
}

void write_goal(present::JsonWriter& json, const Goal& goal) {
  json.begin_object();
  json.field("goal", goal.kind == Goal::Kind::kChange ? "change" : "precision");
  json.field("samples_needed", goal.samples);
  write_optional(json, "largest_interval", goal.interval);
  json.end_object();
}

void write_outlook(present::JsonWriter& json, const Outlook& outlook) {
  json.begin_object().field("bytes", outlook.bytes).field("samples", outlook.samples);
  json.field("chance", outlook.chance).field("relative_error", outlook.relative_error);
  json.end_object();
}

void write_expected(present::JsonWriter& json, const estimation::Expected& expected) {
  json.key("expected").begin_object().field("samples", expected.samples);
  json.field("certain_samples", expected.certain).field("chance", expected.chance);
  json.field("relative_error", expected.relative_error).end_object();
}

void write_interval(present::JsonWriter& json, const IntervalOutlook& one) {
  json.begin_object().field("interval", one.interval);
  json.field("detection_limit_bytes", one.detection_limit);
  if (one.site) {
    json.key("site");
    write_outlook(json, *one.site);
  }
  if (one.run) write_expected(json, *one.run);
  json.objects("objects", one.objects, [&](const ObjectError& object) {
    json.field("bytes", object.bytes);
    json.field("relative_error", object.relative_error);
  });
  json.end_object();
}

void write_run(present::JsonWriter& json, const RunOutlook& run) {
  json.key("run").begin_object().field("duration_ns", run.duration);
  json.field("interval", run.interval).field("exact_bytes", run.exact_bytes);
  json.object("allocated", [&] { write_fields(json, run.allocated); });
  write_expected(json, run.expected);
  json.field("events_per_second", run.events_per_second);
  json.objects("functions", run.functions, [&](const FunctionOutlook& function) {
    present::write_name(json, function.name);
    write_fields(json, function.now);
    write_expected(json, function.expected);
    write_optional(json, "largest_interval", function.goal_interval);
  });
  json.end_object();
}

void write_cost(present::JsonWriter& json, const CostModel& cost) {
  json.key("cost_per_sample").begin_object().field("least_seconds", cost.least_seconds);
  json.field("most_seconds", cost.most_seconds).field("least_trace_bytes", cost.least_trace_bytes);
  json.field("most_trace_bytes", cost.most_trace_bytes).end_object();
}

}  // namespace

std::string to_json(const PlanReport& report) {
  const PlanOptions& options = report.options;
  present::JsonWriter json("plan");
  json.field("level", options.level).field("power", options.power).field("alpha", options.alpha);
  write_optional(json, "change", options.change);
  write_optional(json, "precision", options.precision);
  json.field("interval", report.interval).field("is_interval_derived", report.is_interval_derived);
  json.field("detection_limit_bytes", report.detection_limit);
  json.array("goals", report.goals, [&](const Goal& goal) { write_goal(json, goal); });
  write_cost(json, report.cost);
  if (report.site) {
    json.key("site");
    write_outlook(json, *report.site);
  }
  json.array("sites", report.sites, [&](const Outlook& outlook) { write_outlook(json, outlook); });
  json.array("intervals", report.intervals,
             [&](const IntervalOutlook& one) { write_interval(json, one); });
  if (report.run) write_run(json, *report.run);
  return json.finish();
}

}  // namespace geiger::report
