#include "analysis/present/selfcheck_json.h"

namespace geiger::present {
namespace {

void write_verdict(JsonWriter& json, std::string_view name, const estimation::Verdict& verdict) {
  json.key(name).begin_object().field("statistic", verdict.statistic);
  json.field("p_value", verdict.p_value).end_object();
}

}  // namespace

void write_field(JsonWriter& json, std::string_view name, const estimation::OffsetReport& report) {
  json.key(name).begin_object().field("samples", report.samples);
  json.field("impossible", report.impossible).field("p_value", report.p_value());
  write_verdict(json, "anderson_darling", report.anderson_darling);
  write_verdict(json, "chi_square", report.chi_square);
  json.field("bins", report.bins);
  write_verdict(json, "first_byte", report.first_byte);
  write_verdict(json, "last_byte", report.last_byte);
  json.end_object();
}

void write_field(JsonWriter& json, std::string_view name, const profile::HitCheck& check) {
  json.key(name).begin_object().field("observed", check.hits);
  json.field("is_testable", check.is_testable);
  json.field("expected", check.expected).field("z", check.z);
  json.field("p_value", check.p_value).end_object();
}

}  // namespace geiger::present
