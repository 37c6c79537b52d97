#include <algorithm>

#include "analysis/present/json.h"
#include "analysis/present/measure.h"
#include "analysis/report/overview/rss.h"

namespace geiger::report {
namespace {

void write_rows(present::JsonWriter& json, const RssReport& report) {
  json.key("rows").begin_array();
  for (const RssRow& row : report.rows) {
    json.begin_object().field("part", key_of(row.part)).field("resident", row.bytes);
    write_field(json, row.share);
    json.end_object();
  }
  json.end_array();
}

void write_series(present::JsonWriter& json, const RssReport& report, Nanoseconds start) {
  json.key("series").begin_array();
  for (const profile::SeriesPoint& point : report.series) {
    json.begin_object().field("after_ns", point.time - std::min(point.time, start));
    json.field("resident", point.counts.resident).field("least_resident", point.least);
    json.field("anonymous", point.counts.anonymous).field("file", point.counts.file);
    json.field("shared", point.counts.shared).field("swapped", point.counts.swapped);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string to_json(const RssReport& report, const profile::Recording& recording) {
  const profile::Process& process = recording.processes[report.process];
  present::JsonWriter json;
  json.begin_object().field("schema_version", present::kSchemaVersion).field("report", "rss");
  json.field("level", report.options.level).field("pid", process.pid);
  json.field("executable", process.executable);
  const bool is_maximum = report.options.moment == profile::Moment::kMaximum;
  json.field("moment", is_maximum ? "maximum" : "last").field("after_ns", report.after);
  json.field("resident_bytes", report.resident).field("swapped_bytes", report.swapped);
  json.field("high_water_bytes", report.high_water);
  write_rows(json, report);
  present::write_measure(json, "live", report.live);
  json.field("has_residency", report.residency_fault.empty());
  if (report.residency_fault.empty()) {
    present::write_measure(json, "live_resident", report.live_resident);
    present::write_measure(json, "live_swapped", report.live_swapped);
    present::write_measure(json, "live_untouched", report.live_untouched);
  } else {
    json.field("residency_fault", report.residency_fault);
  }
  json.field("failed_readings", report.refused).field("cost_ns", report.cost);
  json.field("observed_ns", report.observed);
  write_series(json, report, process.start);
  json.end_object();
  return json.take();
}

}  // namespace geiger::report
