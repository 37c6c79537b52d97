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
  json.key("objects").begin_array();
  for (const ObjectError& object : one.objects) {
    json.begin_object().field("bytes", object.bytes);
    json.field("relative_error", object.relative_error).end_object();
  }
  json.end_array().end_object();
}

void write_run(present::JsonWriter& json, const RunOutlook& run) {
  json.key("run").begin_object().field("duration_ns", run.duration);
  json.field("interval", run.interval).field("exact_bytes", run.exact_bytes);
  json.key("allocated").begin_object();
  write_fields(json, run.allocated);
  json.end_object();
  write_expected(json, run.expected);
  json.field("events_per_second", run.events_per_second).key("functions").begin_array();
  for (const FunctionOutlook& function : run.functions) {
    json.begin_object();
    present::write_name(json, function.name);
    write_fields(json, function.now);
    write_expected(json, function.expected);
    write_optional(json, "largest_interval", function.goal_interval);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_cost(present::JsonWriter& json, const CostModel& cost) {
  json.key("cost_per_sample").begin_object().field("least_seconds", cost.least_seconds);
  json.field("most_seconds", cost.most_seconds).field("least_trace_bytes", cost.least_trace_bytes);
  json.field("most_trace_bytes", cost.most_trace_bytes).end_object();
}

}  // namespace

std::string to_json(const PlanReport& report) {
  const PlanOptions& options = report.options;
  present::JsonWriter json;
  json.begin_object().field("schema_version", present::kSchemaVersion).field("report", "plan");
  json.field("level", options.level).field("power", options.power).field("alpha", options.alpha);
  write_optional(json, "change", options.change);
  write_optional(json, "precision", options.precision);
  json.field("interval", report.interval).field("is_interval_derived", report.is_interval_derived);
  json.field("detection_limit_bytes", report.detection_limit).key("goals").begin_array();
  for (const Goal& goal : report.goals) write_goal(json, goal);
  json.end_array();
  write_cost(json, report.cost);
  if (report.site) {
    json.key("site");
    write_outlook(json, *report.site);
  }
  json.key("sites").begin_array();
  for (const Outlook& outlook : report.sites) write_outlook(json, outlook);
  json.end_array();
  json.key("intervals").begin_array();
  for (const IntervalOutlook& one : report.intervals) write_interval(json, one);
  json.end_array();
  if (report.run) write_run(json, *report.run);
  json.end_object();
  return json.take();
}

}  // namespace geiger::report
