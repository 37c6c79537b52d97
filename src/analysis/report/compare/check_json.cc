#include <limits>

#include "analysis/present/function_names.h"
#include "analysis/present/json.h"
#include "analysis/report/compare/check.h"
#include "analysis/report/compare/diff.h"
#include "analysis/report/profiles/table.h"

namespace geiger::report {
namespace {

using compare::GateResult;

/// What JSON cannot hold becomes null.
double or_nothing(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

void write_result(present::JsonWriter& json, const GateResult& result, const CheckReport& report) {
  const bool is_growth = result.limit.measured == compare::Measured::kGrowth;
  json.begin_object().field("answer", compare::name_of(result.answer));
  present::write_name(json, result.name, present::is_named_by_functions(report.grouping.by));
  json.field("detail", result.detail).field("source", result.source);
  json.field("measured", is_growth ? "growth" : "bytes").field("limit", result.limit.most);
  json.field("value", or_nothing(result.value)).field("lo", result.lo);
  json.field("hi", or_nothing(result.hi)).field("is_exact", result.is_exact);
  json.field("effort", or_nothing(result.effort)).field("to_decide", advice(result, report));
  json.field("lacks", result.lacks);
  if (result.open > 0) json.field("open", result.open);
  json.end_object();
}

}  // namespace

std::string to_json(const CheckReport& report) {
  present::JsonWriter json("check");
  json.field("kind", profile::name_of(report.kind)).field("by", name_of(report.grouping.by));
  json.field("level", report.options.level);
  write_field(json, report.options.scope);
  json.field("answer", compare::name_of(report.verdicts.answer));
  json.field("passed", report.verdicts.passed).field("failed", report.verdicts.failed);
  json.field("undecided", report.verdicts.undecided);
  json.field("ignored_bytes", report.verdicts.ignored_bytes);
  json.field("site_gates", report.verdicts.site_gates);
  json.key("before");
  write_side(json, report.options.before, report.before);
  json.key("after");
  write_side(json, report.options.after, report.after);
  json.array("gates", report.verdicts.results,
             [&](const GateResult& result) { write_result(json, result, report); });
  json.objects("not_compared", report.not_compared, [&](const compare::GateSpec& spec) {
    json.field("name", spec.name()).field("detail", spec.detail());
    json.field("source", spec.source).field("limit", spec.limit.most);
  });
  return json.finish();
}

}  // namespace geiger::report
