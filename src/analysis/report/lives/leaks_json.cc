#include "analysis/present/function_names.h"
#include "analysis/present/json.h"
#include "analysis/present/stack_json.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/lives/lifetimes.h"

namespace geiger::report {
namespace {

using profile::Recording;

void write_growth(present::JsonWriter& json, std::string_view name,
                  const profile::LeakGrowth& growth) {
  json.key(name).begin_object().field("bytes", growth.bytes);
  json.field("lo", growth.interval.lo).field("hi", growth.interval.hi);
  json.field("p_value", growth.p_value).field("is_lasting", growth.is_lasting).end_object();
}

void write_late(present::JsonWriter& json, const profile::LateGrowth& late) {
  json.key("late").begin_object().field("by", name_of(late.by));
  json.field("at_least", late.at_least).field("seconds", late.seconds);
  json.field("in_use_from", late.in_use_from).field("in_use_to", late.in_use_to);
  json.field("chunk_bytes", late.chunk).field("growing_chunk_bytes", late.growing);
  json.field("decided_after_seconds", late.decided_after).end_object();
}

void write_growing(present::JsonWriter& json, const LeaksReport& report,
                   const Recording& recording) {
  json.objects("growing_chunks", report.growing, [&](const profile::GrowingChunks& chunks) {
    json.field("pid", recording.processes[chunks.process].pid).field("chunk_bytes", chunks.chunk);
    json.field("bytes", chunks.bytes).field("lo", chunks.interval.lo);
    json.field("hi", chunks.interval.hi).field("seconds", chunks.seconds);
    json.field("p_value", chunks.p_value).field("q_value", chunks.q_value);
  });
}

void write_line(present::JsonWriter& json, const LeakLine& line, profile::GroupBy by,
                const Recording& recording) {
  const profile::LeakSite& site = line.site;
  json.begin_object();
  present::write_name(json, site.group.name, present::is_named_by_functions(by));
  json.field("detail", site.group.detail);
  write_field(json, site.group.where);
  json.field("verdict", name_of(site.verdict));
  json.object("live", [&] { write_fields(json, line.live); });
  json.key("never_freed").begin_object().field("value", line.never_freed.value);
  json.field("lo", line.never_freed.interval.lo).field("hi", line.never_freed.interval.hi);
  json.end_object();
  write_growth(json, "growth", site.all);
  write_growth(json, "growth_of_old", site.old);
  json.key("bytes_per_second").begin_object().field("value", line.rate.value);
  json.field("lo", line.rate.interval.lo).field("hi", line.rate.interval.hi).end_object();
  if (!line.where.empty()) json.field("where", line.where);
  json.field("since_ns", line.since).field("seconds", site.seconds).field("oldest_ns", site.oldest);
  json.field("old_from_ns", site.old_from);
  json.field("samples_since_warm_up", site.since).field("samples_kept", site.kept);
  json.field("is_tested", site.is_tested);
  if (site.late) write_late(json, *site.late);
  if (site.open != profile::Open::kNothing) json.field("open", name_of(site.open));
  json.field("p_value", site.p_value).field("q_value", site.q_value);
  if (site.group.stack < recording.stacks.size())
    present::write_stack(json, recording, site.group.stack);
  json.end_object();
}

void write_judged(present::JsonWriter& json, const LeaksReport& report) {
  const JudgedInstant& judged = report.judged;
  json.key("judged").begin_object().field("why", name_of(judged.why));
  json.field("after_start_ns", judged.after_start).field("before_end_ns", judged.before_end);
  json.field("processes", judged.processes);
  if (report.options.until) json.field("until", report.options.until->text);
  if (judged.freed_from) json.field("freed_from_ns", *judged.freed_from);
  json.end_object();
  json.object("live", [&] { write_fields(json, report.live); });
  json.object("live_at_end", [&] { write_fields(json, report.live_at_end); });
}

void write_suppressed(present::JsonWriter& json, const LeaksReport& report) {
  json.objects("suppressed", report.suppressed, [&](const SuppressedLine& line) {
    json.field("pattern", line.pattern);
    write_fields(json, line.live);
  });
}

}  // namespace

std::string to_json(const LeaksReport& report, const Recording& recording) {
  const profile::LeakOptions& search = report.options.search;
  present::JsonWriter json("leaks");
  json.field("level", search.level).field("q", search.q).field("warm_up", search.warm_up);
  json.field("by", name_of(search.by));
  write_field(json, report.options.scope);
  json.field("suspects", report.suspects).field("undecided", report.undecided);
  json.field("clear", report.clear).field("tested", report.tested);
  json.field("may_grow", report.may_grow).field("may_have_leaked", report.may_have_leaked);
  json.field("can_be_clear", report.can_be_clear);
  json.field("samples_needed", report.samples_needed);
  json.field("finding", name_of(report.finding()));
  if (!report.missing.empty()) json.field("missing", report.missing);
  write_judged(json, report);
  json.key("sites").begin_array();
  for (const LeakLine& line : report.lines)
    write_line(json, line, present::named_like(search.by), recording);
  json.end_array();
  if (report.small) {
    json.key("small_sites");
    write_line(json, *report.small, present::named_like(search.by), recording);
  }
  write_growing(json, report, recording);
  if (!report.walk_fault.empty()) json.field("walk_fault", report.walk_fault);
  write_suppressed(json, report);
  return json.finish();
}

}  // namespace geiger::report
