#include "analysis/present/json.h"
#include "analysis/report/profiles/stats.h"

namespace geiger::report {
namespace {

using profile::Recording;

void write_groups(present::JsonWriter& json, std::string_view name,
                  const std::vector<Group>& groups) {
  json.objects(name, groups, [&](const Group& group) {
    json.field("name", group.name);
    write_fields(json, group.measure);
  });
}

void write_sizes(present::JsonWriter& json, const std::vector<SizeClass>& sizes) {
  json.objects("sizes", sizes, [&](const SizeClass& size) {
    json.field("least", size.least).field("most", size.most);
    write_fields(json, size.measure);
  });
}

void write_depths(present::JsonWriter& json, const std::vector<DepthClass>& depths) {
  json.objects("depths", depths, [&](const DepthClass& depth) {
    json.field("least", depth.least).field("most", depth.most);
    json.field("samples", depth.samples);
  });
}

void write_threads(present::JsonWriter& json, const StatsReport& report,
                   const Recording& recording) {
  json.field("thread_count", report.thread_count);
  json.array("threads", report.threads, [&](const ThreadLine& line) {
    const profile::Thread& thread = recording.threads[line.thread];
    json.begin_object().field("tid", thread.tid).field("name", thread.name);
    if (thread.process < recording.processes.size()) {
      json.field("pid", recording.processes[thread.process].pid);
    }
    json.field("start_ns", thread.start).field("end_ns", thread.end);
    if (!is_part(report)) json.field("exact_bytes", line.exact_bytes);
    write_fields(json, line.measure);
    json.end_object();
  });
}

void write_processes(present::JsonWriter& json, const StatsReport& report,
                     const Recording& recording) {
  json.key("processes").begin_array();
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const profile::ProcessTotals& totals = report.processes[i];
    json.begin_object().field("pid", recording.processes[i].pid);
    json.field("executable", recording.processes[i].executable);
    json.field("exact_bytes", totals.exact_bytes).field("unsettled_bound", totals.unsettled_bound);
    json.field("certain_bytes", totals.certain_bytes).field("z", totals.z).end_object();
  }
  json.end_array();
}

}  // namespace

std::string to_json(const StatsReport& report, const Recording& recording) {
  present::JsonWriter json("stats");
  json.field("level", report.options.level);
  json.field("kind", profile::name_of(report.options.selection.kind));
  json.field("is_split", report.is_split);
  write_field(json, report.options.scope);
  json.object("total", [&] { write_fields(json, report.total); });
  write_sizes(json, report.sizes);
  write_groups(json, "entry_points", report.entry_points);
  write_groups(json, "lifetimes", report.lifetimes);
  write_depths(json, report.depths);
  json.field("truncated_samples", report.truncated_samples);
  write_threads(json, report, recording);
  write_processes(json, report, recording);
  return json.finish();
}

}  // namespace geiger::report
