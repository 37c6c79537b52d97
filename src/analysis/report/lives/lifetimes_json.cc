#include "analysis/present/function_names.h"
#include "analysis/present/json.h"
#include "analysis/present/share.h"
#include "analysis/present/stack_json.h"
#include "analysis/report/lives/lifetimes.h"

namespace geiger::report {
namespace {

using profile::Recording;

void write_share(present::JsonWriter& json, std::string_view name,
                 const std::optional<present::Share>& share) {
  if (!share) return;
  json.key(name).begin_object().field("value", share->value);
  json.field("lo", share->interval.lo).field("hi", share->interval.hi).end_object();
}

void write_length(present::JsonWriter& json, std::string_view name,
                  const std::optional<double>& length) {
  // A figure that the recording is too short for is left out.
  if (length) json.field(name, *length);
}

void write_quantiles(present::JsonWriter& json, const LifetimeFigures& figures) {
  json.key("quantiles").begin_array();
  for (std::size_t i = 0; i < kFreedShares.size(); ++i) {
    json.begin_object().field("freed", kFreedShares[i]);
    write_fields(json, figures.quantiles[i]);
    json.end_object();
  }
  json.end_array();
}

void write_steps(present::JsonWriter& json, const LifetimeFigures& figures) {
  json.field("step_count", figures.step_count);
  json.objects("steps", figures.steps, [&](const estimation::SurvivalStep& step) {
    json.field("ns", step.length).field("alive", step.alive);
    json.field("lo", step.band.lo).field("hi", step.band.hi);
    json.field("at_risk", step.at_risk);
  });
}

void write_figures(present::JsonWriter& json, std::string_view name,
                   const LifetimeFigures& figures) {
  json.key(name).begin_object().field("longest_ns", figures.longest);
  write_quantiles(json, figures);
  write_share(json, "temporary", figures.temporary);
  write_steps(json, figures);
  json.end_object();
}

void write_line(present::JsonWriter& json, const LifetimeLine& line, profile::GroupBy by,
                const Recording& recording) {
  json.begin_object();
  present::write_name(json, line.name, present::is_named_by_functions(by));
  json.field("detail", line.detail);
  write_field(json, line.where);
  json.object("allocated", [&] { write_fields(json, line.allocated); });
  json.field("freed_samples", line.freed_samples);
  write_share(json, "never_freed", line.never_freed);
  write_share(json, "freed_by_other_thread", line.other_thread);
  write_share(json, "freed_on_other_cpu", line.other_cpu);
  write_figures(json, "over_bytes", line.bytes);
  write_figures(json, "over_objects", line.objects);
  if (line.stack < recording.stacks.size()) present::write_stack(json, recording, line.stack);
  json.end_object();
}

void write_free_places(present::JsonWriter& json, const LifetimesReport& report,
                       const Recording& recording) {
  json.field("freed_at_count", report.freed_at_count);
  json.objects("freed_at", report.freed_at, [&](const FreedAt& place) {
    present::write_name(json, place.name, true);
    json.field("detail", place.detail);
    write_field(json, place.where);
    json.field("samples", place.samples);
    write_field(json, place.share);
    if (place.stack < recording.stacks.size()) present::write_stack(json, recording, place.stack);
  });
}

}  // namespace

void write_fields(present::JsonWriter& json, const estimation::SurvivalCurve::Quantile& quantile) {
  write_length(json, "value_ns", quantile.value);
  write_length(json, "lo_ns", quantile.lo);
  write_length(json, "hi_ns", quantile.hi);
}

std::string to_json(const LifetimesReport& report, const Recording& recording) {
  const LifetimesOptions& options = report.options;
  present::JsonWriter json("lifetimes");
  json.field("level", options.level).field("by", name_of(options.by));
  json.field("observed_only", options.selection.observed_only);
  json.field("temporary_ns", options.temporary);
  write_field(json, options.scope);
  json.field("unseen_frees", report.unseen_frees).field("dropped_frees", report.dropped_frees);
  json.field("allocated_before", report.allocated_before);
  json.key("whole");
  write_line(json, report.whole, present::named_like(report.options.by), recording);
  json.field("group_count", report.groups).key("groups").begin_array();
  for (const LifetimeLine& line : report.lines)
    write_line(json, line, present::named_like(report.options.by), recording);
  json.end_array();
  write_free_places(json, report, recording);
  return json.finish();
}

}  // namespace geiger::report

namespace geiger::present {

using Quantile = estimation::SurvivalCurve::Quantile;

const Fields<Quantile>& fields_of(Of<Quantile> /*type*/) {
  static const auto kFields = Fields<Quantile>()
                                  .field("value_ns", "", &Quantile::value)
                                  .field("lo_ns", "", &Quantile::lo)
                                  .field("hi_ns", "", &Quantile::hi);
  return kFields;
}

}  // namespace geiger::present
