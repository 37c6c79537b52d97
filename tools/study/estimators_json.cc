#include "analysis/present/function_names.h"
#include "analysis/present/json.h"
#include "study/estimators.h"

namespace geiger::study {
namespace {

void write_interval(present::JsonWriter& json,
                    const std::optional<estimation::Interval>& interval) {
  if (interval) json.field("lo", interval->lo).field("hi", interval->hi);
}

void write_lines(present::JsonWriter& json, std::string_view name,
                 const std::vector<EstimatorLine>& lines) {
  json.key(name).begin_array();
  for (const EstimatorLine& line : lines) {
    json.begin_object().field("estimator", line.key).field("value", line.value);
    json.field("is_biased", !line.variance.has_value());
    if (line.variance) json.field("variance", *line.variance);
    write_interval(json, line.interval);
    if (line.interval) json.field("interval", line.interval_by);
    if (line.error) json.field("relative_error", *line.error);
    json.field("why", line.why).end_object();
  }
  json.end_array();
}

void write_table(present::JsonWriter& json, const EstimatorTable& table) {
  json.field("samples", table.samples).field("certain_samples", table.certain_samples);
  write_lines(json, "bytes", table.bytes);
  write_lines(json, "objects", table.objects);
  if (!table.average_size) return;
  json.key("average_size").begin_object().field("value", table.average_size->value);
  json.field("variance", table.average_size->variance);
  write_interval(json, table.average_size->interval);
  json.field("is_bound", table.average_size->is_bound).end_object();
}

void write_intervals(present::JsonWriter& json, const std::vector<IntervalLine>& lines) {
  json.key("intervals").begin_array();
  for (const IntervalLine& line : lines) {
    json.begin_object().field("interval", line.key);
    write_interval(json, line.interval);
    if (line.holds) json.field("holds_exact", *line.holds);
    json.field("why", line.why).end_object();
  }
  json.end_array();
}

}  // namespace

std::string to_json(const EstimatorsReport& report) {
  present::JsonWriter json;
  json.begin_object()
      .field("schema_version", present::kSchemaVersion)
      .field("report", "estimators");
  json.field("level", report.level).field("kind", profile::name_of(report.kind));
  write_field(json, report.scope);
  if (report.exact) json.field("exact_bytes", *report.exact);
  json.field("impossible_samples", report.impossible);
  json.key("whole").begin_object();
  write_table(json, report.whole);
  json.end_object();
  write_intervals(json, report.intervals);
  json.key("sizes").begin_array();
  for (const SizeLine& line : report.sizes) {
    json.begin_object().field("size", line.size).field("interval", line.interval);
    json.field("objects", line.objects).end_object();
  }
  json.end_array().key("sites").begin_array();
  for (const EstimatorTable& site : report.sites) {
    json.begin_object();
    present::write_name(json, site.name);
    json.field("detail", site.detail);
    write_table(json, site);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace geiger::study
