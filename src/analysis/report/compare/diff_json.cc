
#include "analysis/present/function_names.h"
#include "analysis/present/measure.h"
#include "analysis/present/stack_json.h"
#include "analysis/report/compare/diff.h"
#include "analysis/report/profiles/table.h"

namespace geiger::report {
namespace {

using compare::Collected;
using compare::Comparison;
using compare::Site;

void write_stack(present::JsonWriter& json, const Site& site, const Collected& collected) {
  json.array("stack", site.places, [&](const std::uint32_t index) {
    const compare::Place& place = collected.places[index];
    json.begin_object().field("function", place.name).field("module", place.module).end_object();
  });
}

void write_sides(present::JsonWriter& json, const compare::Row& row) {
  json.field("verdict", compare::name_of(row.verdict));
  json.field("before", row.before).field("after", row.after);
  json.object("change", [&] { write_fields(json, row.change); });
}

void write_row(present::JsonWriter& json, const compare::Row& row, const Collected& collected) {
  const Site& site = collected.sites[row.site];
  json.begin_object();
  present::write_name(json, site.name, present::is_named_by_functions(collected.grouping.by));
  json.field("detail", site.detail);
  write_field(json, site.where);
  write_sides(json, row);
  if (collected.grouping.by == profile::GroupBy::kStack) write_stack(json, site, collected);
  json.end_object();
}

void write_exact(present::JsonWriter& json, const compare::ExactTotals& exact) {
  json.key("exact").begin_object();
  json.field("before", exact.before).field("after", exact.after).field("change", exact.change());
  json.field("unsettled_before", exact.unsettled_before);
  json.field("unsettled_after", exact.unsettled_after);
  json.field("lo", exact.interval.lo).field("hi", exact.interval.hi);
  json.field("p", exact.p_value).field("verdict", compare::name_of(exact.verdict)).end_object();
}

}  // namespace

void write_fields(present::JsonWriter& json, const compare::Change& change) {
  json.field("value", change.value).field("lo", change.interval.lo);
  json.field("hi", change.interval.hi).field("certain", change.certain);
  json.field("p", change.p_value).field("q", change.q_value);
  json.field("detectable", change.detectable).field("dispersion", change.dispersion);
  json.field("sampling_p", change.sampling_p).field("runs_to_find", change.runs_to_find);
}

void write_side(present::JsonWriter& json, const std::vector<std::string>& runs,
                const compare::SideFacts& facts) {
  json.begin_object();
  json.array("runs", runs, [&](const std::string& run) { json.string(run); });
  json.field("run_count", facts.runs.size());
  json.field("least_interval", facts.smallest_interval);
  json.field("most_interval", facts.largest_interval);
  json.field("shares_process", facts.shares_process).end_object();
}

std::string to_json(const DiffReport& report) {
  const Comparison& comparison = report.comparison;
  const Collected& collected = comparison.collected;
  present::JsonWriter json("diff");
  json.field("kind", profile::name_of(collected.kind)).field("by", name_of(collected.grouping.by));
  json.field("is_inclusive", collected.grouping.is_inclusive).field("level", comparison.level);
  write_field(json, report.options.scope);
  json.key("before");
  write_side(json, report.options.before, collected.before);
  json.key("after");
  write_side(json, report.options.after, collected.after);
  json.object("total", [&] { write_sides(json, comparison.total); });
  if (comparison.exact) write_exact(json, *comparison.exact);
  json.field("is_sampling_only", !comparison.run_deviation.has_value());
  json.field("run_deviation", comparison.run_deviation.value_or(0));
  json.field("detectable_new", comparison.detectable_new).field("tested", comparison.tested);
  json.field("row_count", comparison.rows.size()).field("changes", report.changes);
  json.field("noise", report.noise).field("too_few", report.too_few);
  if (comparison.strata > 0) {
    json.field("strata", comparison.strata).field("matched", comparison.matched);
  }
  json.array("rows", report.lines,
             [&](const std::size_t line) { write_row(json, comparison.rows[line], collected); });
  json.array("caveats", caveats(comparison), [&](const std::string& line) { json.string(line); });
  return json.finish();
}

}  // namespace geiger::report
