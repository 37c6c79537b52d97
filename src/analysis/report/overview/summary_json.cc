#include "analysis/present/extent.h"
#include "analysis/present/function_names.h"
#include "analysis/present/json.h"
#include "analysis/present/measure.h"
#include "analysis/present/names.h"
#include "analysis/present/selfcheck_json.h"
#include "analysis/present/share.h"
#include "analysis/present/stack_json.h"
#include "analysis/report/overview/summary.h"

namespace geiger::report {
namespace {

using profile::Process;
using profile::Recording;

void write_exact(present::JsonWriter& json, const profile::ProcessTotals& totals) {
  json.key("exact").begin_object();
  json.field("bytes", totals.exact_bytes).field("unsettled_bound", totals.unsettled_bound);
  json.field("threads", totals.threads).field("unsettled_threads", totals.unsettled_threads);
  json.field("certain_bytes", totals.certain_bytes).field("certain_count", totals.certain_count);
  json.field("trials", totals.trials).field("hits", totals.hits);
  json.field("tail_bytes", totals.tail_bytes).field("z", totals.z).end_object();
}

void write_self_check(present::JsonWriter& json, const SummaryReport& report) {
  json.key("self_check")
      .begin_object()
      .field("passed", self_check_of(report) == SelfCheck::kPassed);
  json.field("answer", name_of(self_check_of(report)));
  json.array("lacks", report.gaps, [&](const profile::Gap& gap) { json.string(gap.why); });
  write_field(json, "hits", report.hits);
  write_field(json, "offsets", report.offsets);
  json.end_object();
}

void write_drops(present::JsonWriter& json, const vocabulary::Drops& drops) {
  json.key("drops").begin_object();
  for (std::size_t i = 0; i < drops.size(); ++i) {
    const auto cause = static_cast<vocabulary::DropCause>(i);
    const bool is_known = !words_of(cause).key.empty();
    if (is_known || drops[i] > 0) json.field(present::drop_cause_key(cause), drops[i]);
  }
  json.end_object();
}

void write_process(present::JsonWriter& json, const ProcessLine& line, const Recording& recording,
                   bool has_own_peak) {
  const Process& process = recording.processes[line.index];
  json.begin_object().field("pid", process.pid);
  if (process.inner_pid != 0) json.field("inner_pid", process.inner_pid);
  json.field("parent_pid", process.parent_pid);
  json.field("executable", process.executable).field("allocator", process.allocator);
  json.field("trace", process.trace_path).field("trace_bytes", process.trace_bytes);
  json.field("is_fork_child", process.is_fork_child).field("is_pure", process.is_pure);
  json.field("is_attached", process.is_attached);
  json.field("ending", present::ending_key(process.ending));
  if (process.end_signal != 0) {
    json.field("end_signal", process.end_signal)
        .field("was_memory_short", process.was_memory_short);
  }
  json.field("stop_reason", present::stop_reason_key(process.stop_reason));
  json.field("stop_errno", process.stop_errno).field("interval", process.interval);
  json.field("seed", process.seed).field("start_ns", process.start).field("end_ns", process.end);
  json.field("start_realtime_ns", process.start_realtime).field("records", process.records);
  json.field("uncommitted_records", process.uncommitted).field("samples", line.samples);
  present::write_extent(json, process);
  present::write_measure(json, "allocated", line.allocated);
  if (has_own_peak) {
    present::write_measure(json, "own_peak", line.own_peak);
    json.field("own_peak_after_ns", line.own_peak_time);
  }
  write_exact(json, line.exact);
  write_drops(json, process.drops);
  json.key("refused").begin_object().field("children", process.refused.children);
  json.field("children_errno", process.refused.children_errno);
  json.field("segment_errno", process.refused.segment_errno).end_object();
  json.end_object();
}

void write_sites(present::JsonWriter& json, std::string_view name,
                 const std::vector<TableLine>& lines) {
  json.objects(name, lines, [&](const TableLine& line) {
    present::write_name(json, line.name);
    json.field("detail", line.detail);
    write_field(json, line.where);
    present::write_measure(json, "self", line.self);
    write_field(json, line.share);
  });
}

void write_mapped(present::JsonWriter& json, const MappedLine& mapped) {
  json.key("mapped").begin_object().field("peak_bytes", mapped.at_peak);
  json.field("bytes", mapped.at_end.memory).field("reserved_bytes", mapped.at_end.reserved);
  json.field("file_bytes", mapped.at_end.files);
  json.field("misses_inherited", mapped.misses_inherited).end_object();
}

/// Objects by the name of their kind, and lives.
void write_kinds(present::JsonWriter& json, const SummaryReport& report) {
  json.key("kinds").begin_object();
  for (const KindLine& line : report.kinds) {
    present::write_measure(json, profile::name_of(line.kind), line.measure);
  }
  json.end_object();
  for (const KindLine& line : report.kinds) {
    if (line.asked) write_value(json.key("by_mincore"), *line.asked);
  }
  if (!report.lifetimes) return;
  const LifetimeFigures& lives = report.lifetimes->bytes;
  json.key("lifetimes").begin_object();
  json.object("median", [&] { write_fields(json, lives.quantiles[kMedian]); });
  json.object("temporary", [&] { write_field(json, lives.temporary); });
  json.end_object();
}

}  // namespace

std::string to_json(const SummaryReport& report, const Recording& recording) {
  present::JsonWriter json("summary");
  json.field("level", report.options.level).field("duration_ns", report.duration);
  write_field(json, report.options.scope);
  if (!report.options.origin.empty()) {
    json.array("origin", report.options.origin,
               [&](const std::string& line) { json.string(line); });
  }
  write_field(json, "finding", report.finding);
  if (report.mapped_finding) write_field(json, "mapped_finding", *report.mapped_finding);
  if (!report.fault.empty()) json.field("fault", report.fault);
  if (!report.leak.empty()) json.field("leak", report.leak);
  json.field("samples", report.samples).field("certain_samples", report.certain_samples);
  present::write_measure(json, "allocated", report.allocated);
  if (!report.is_part()) {
    write_exact(json, report.exact);
    write_self_check(json, report);
  }
  present::write_measure(json, "live_at_end", report.live_at_end);
  json.field("is_aggregated", report.is_aggregated);
  if (!report.is_aggregated) present::write_measure(json, "live_at_peak", report.live_at_peak);
  if (report.options.has_all_kinds) write_kinds(json, report);
  if (report.mapped.is_seen) write_mapped(json, report.mapped);
  json.field("peak_after_ns", report.peak_time).field("is_peak_split", report.is_peak_split);
  json.field("detection_limit_bytes", report.detection_limit);
  json.field("stacks", report.stacks).field("truncated_samples", report.truncated);
  json.field("is_symbolized", recording.is_symbolized);
  present::write_interpreters(json, recording);
  if (report.rss) {
    json.key("rss").begin_object().field("resident_bytes", report.rss->resident);
    if (report.rss->has_shares()) write_field(json, report.rss->rows.front().share);
    json.end_object();
  }
  json.key("children").begin_object().field("by_fork", report.forked.children);
  json.field("may_pass_unseen_bytes", report.forked.may_pass_unseen).end_object();
  write_drops(json, report.drops);
  json.key("processes").begin_array();
  const bool has_own_peaks = !report.is_aggregated && report.processes.size() > 1;
  for (const ProcessLine& line : report.processes) {
    write_process(json, line, recording, has_own_peaks);
  }
  json.end_array();
  write_sites(json, "top_allocated", report.top_allocated);
  write_sites(json, "top_live_at_peak", report.top_live_at_peak);
  json.array("warnings", recording.warnings,
             [&](const std::string& warning) { json.string(warning); });
  return json.finish();
}

}  // namespace geiger::report
