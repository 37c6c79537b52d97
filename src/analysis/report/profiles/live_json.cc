#include "analysis/present/function_names.h"
#include "analysis/present/json.h"
#include "analysis/present/stack_json.h"
#include "analysis/report/profiles/live.h"

namespace geiger::report {
namespace {

using profile::Recording;

void write_field(present::JsonWriter& json, std::string_view name, const LiveGrowth& growth) {
  const double seconds = static_cast<double>(growth.length) / 1e9;
  json.key(name).begin_object().field("bytes", growth.bytes);
  json.field("lo", growth.interval.lo).field("hi", growth.interval.hi);
  json.key("per_second").begin_object().field("value", growth.bytes / seconds);
  json.field("lo", growth.interval.lo / seconds).field("hi", growth.interval.hi / seconds);
  json.end_object().end_object();
}

void write_row(present::JsonWriter& json, const GrowthRow& row, profile::GroupBy by,
               const Recording& picture) {
  json.begin_object();
  present::write_name(json, row.key.name, present::is_named_by_functions(by));
  json.field("detail", row.key.detail);
  write_field(json, row.where);
  json.field("is_growing", row.is_growing);
  write_field(json, "since_start", row.since_start);
  if (row.recent) write_field(json, "recent", *row.recent);
  if (row.key.stack < picture.stacks.size()) present::write_stack(json, picture, row.key.stack);
  json.end_object();
}

void write_growth(present::JsonWriter& json, const LiveReport& report, const Recording& picture) {
  const GrowthReport& growth = report.growth;
  if (!growth.is_known()) return;
  json.key("growth").begin_object().field("length_ns", growth.length());
  if (growth.has_recent()) json.field("recent_length_ns", growth.recent_length());
  json.field("sentence", sentence(growth)).field("growing", growth.growing());
  write_field(json, "total", growth.total());
  json.key("rows").begin_array();
  std::size_t left =
      report.options.table.top == 0 ? growth.rows().size() : report.options.table.top;
  for (const GrowthRow& row : growth.rows()) {
    if (left-- == 0) break;
    write_row(json, row, growth.by(), picture);
  }
  json.end_array().end_object();
}

}  // namespace

std::string to_json(const LiveReport& report, const Recording& picture) {
  present::JsonWriter json("live");
  json.field("elapsed", report.elapsed).field("interval", report.interval);
  json.objects("processes", report.processes, [&](const LiveProcess& process) {
    json.field("pid", process.pid).field("program", process.name);
    json.field("state", process.state).field("resident", process.resident);
  });
  if (report.options.process) {
    json.field("only_pid", picture.processes[*report.options.process].pid);
  }
  json.field("samples", report.samples).field("live_samples", report.live_samples);
  json.field("dropped", report.dropped).field("thinning", report.thinning);
  json.field("exact_bytes", report.exact_bytes).field("unsettled_bound", report.unsettled);
  json.field("detection_limit", report.detection_limit).field("resident", report.resident);
  json.object("allocated", [&] { write_fields(json, report.allocated); });
  json.object("live", [&] { write_fields(json, report.live); });
  write_growth(json, report, picture);
  write_value(json.key("table"), present::InRecording<TableReport>{report.table, picture});
  return json.finish();
}

}  // namespace geiger::report
