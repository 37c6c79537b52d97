#include "analysis/present/function_names.h"
#include "analysis/present/json.h"
#include "research/estimators.h"

namespace geiger::research {
namespace {

void write_interval(present::JsonWriter& json,
                    const std::optional<estimation::Interval>& interval) {
  if (interval) json.field("lo", interval->lo).field("hi", interval->hi);
}

void write_lines(present::JsonWriter& json, std::string_view name,
                 const std::vector<EstimatorLine>& lines) {
  json.objects(name, lines, [&](const EstimatorLine& line) {
    json.field("estimator", line.key).field("value", line.value);
    json.field("is_biased", !line.variance.has_value());
    if (line.variance) json.field("variance", *line.variance);
    write_interval(json, line.interval);
    if (line.interval) json.field("interval", line.interval_by);
    if (line.error) json.field("relative_error", *line.error);
    json.field("why", line.why);
  });
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
  json.objects("intervals", lines, [&](const IntervalLine& line) {
    json.field("interval", line.key);
    write_interval(json, line.interval);
    if (line.holds) json.field("holds_exact", *line.holds);
    json.field("why", line.why);
  });
}

}  // namespace

std::string to_json(const EstimatorsReport& report) {
  present::JsonWriter json("estimators");
  json.field("level", report.level).field("kind", profile::name_of(report.kind));
  write_fields(json, report.scope);
  if (report.exact) json.field("exact_bytes", *report.exact);
  json.field("impossible_samples", report.impossible);
  json.object("whole", [&] { write_table(json, report.whole); });
  write_intervals(json, report.intervals);
  json.objects("sizes", report.sizes, [&](const SizeLine& line) {
    json.field("size", line.size).field("interval", line.interval);
    json.field("objects", line.objects);
  });
  json.objects("sites", report.sites, [&](const EstimatorTable& site) {
    write_fields(json, present::Named{site.name});
    json.field("detail", site.detail);
    write_table(json, site);
  });
  return json.finish();
}

}  // namespace geiger::research
