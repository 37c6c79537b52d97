#include <algorithm>
#include <array>

#include "analysis/present/json.h"
#include "analysis/present/measure.h"
#include "analysis/report/overview/rss.h"

namespace geiger::report {
namespace {

void write_rows(present::JsonWriter& json, const RssReport& report) {
  json.objects("rows", report.rows, [&](const RssRow& row) {
    json.field("part", key_of(row.part)).field("resident", row.bytes);
    if (report.has_shares()) write_field(json, row.share);
  });
}

/// The sizes of the parts add up to what is mapped.
void write_census(present::JsonWriter& json, const profile::HeapCensus& census) {
  std::array<profile::HeapPart, profile::kHeapParts> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = static_cast<profile::HeapPart>(i);
  json.object("heap_census", [&] {
    json.field("mapped_bytes", census.mapped);
    json.objects("parts", parts, [&](profile::HeapPart part) {
      json.field("part", key_of(part)).field("bytes", census.of(part).size);
      json.field("resident_bytes", census.of(part).resident);
    });
  });
}

void write_series(present::JsonWriter& json, const RssReport& report, Nanoseconds start) {
  json.objects("series", report.series, [&](const profile::SeriesPoint& point) {
    json.field("after_ns", point.time - std::min(point.time, start));
    json.field("resident", point.counts.resident).field("least_resident", point.least);
    json.field("anonymous", point.counts.anonymous).field("file", point.counts.file);
    json.field("shared", point.counts.shared).field("swapped", point.counts.swapped);
  });
}

}  // namespace

std::string to_json(const RssReport& report, const profile::Recording& recording) {
  const profile::Process& process = recording.processes[report.process];
  present::JsonWriter json("rss");
  json.field("level", report.options.level).field("pid", process.pid);
  json.field("executable", process.executable);
  const bool is_maximum = report.options.moment == profile::Moment::kMaximum;
  json.field("moment", is_maximum ? "maximum" : "last").field("after_ns", report.after);
  json.field("resident_bytes", report.resident).field("swapped_bytes", report.swapped);
  json.field("high_water_bytes", report.high_water);
  json.field("misses_objects", report.misses_objects);
  json.field("contradiction_bytes", report.excess);
  write_rows(json, report);
  if (report.census) write_census(json, *report.census);
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
  return json.finish();
}

}  // namespace geiger::report
