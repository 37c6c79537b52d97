#include "analysis/present/function_names.h"
#include "analysis/present/hours.h"
#include "analysis/present/json.h"
#include "analysis/present/stack_json.h"
#include "analysis/report/fleet/series.h"

namespace geiger::report {
namespace {

void write_point(present::JsonWriter& json, const SeriesPoint& point) {
  const present::Coverage& coverage = point.coverage;
  json.field("from", point.from).field("hosts", coverage.hosts);
  json.field("recorded_hosts", coverage.recorded_hosts);
  json.field("expected_hours", present::hours_of(coverage.expected_ms));
  json.field("recorded_hours", present::hours_of(coverage.recorded_ms));
  if (point.allocated) json.field("allocated", *point.allocated);
  if (point.live) json.field("live", *point.live);
}

void write_site(present::JsonWriter& json, const SeriesSite& site) {
  present::write_name(json, site.name, true);
  json.field("detail", site.detail);
  write_field(json, site.where);
  json.array("points", site.points,
             [&](const estimation::Estimate& point) { json.estimate(point); });
}

}  // namespace

std::string to_json(const SeriesReport& report) {
  present::JsonWriter json("fleet-series");
  json.field("level", report.level).field("step_seconds", report.step);
  write_field(json, report.scope);
  json.objects("points", report.points,
               [&](const SeriesPoint& point) { write_point(json, point); });
  if (report.has_sites) {
    json.field("kind", profile::name_of(report.kind)).field("by", "function");
    json.field("row_count", report.site_count);
    json.objects("rows", report.sites, [&](const SeriesSite& site) { write_site(json, site); });
  }
  return json.finish();
}

}  // namespace geiger::report
