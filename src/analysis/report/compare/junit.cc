// JUnit XML as CI servers read it: testsuites > testsuite > testcase, with failure or
// error inside.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/present/format.h"
#include "analysis/present/text.h"
#include "analysis/report/compare/check.h"

namespace geiger::report {
namespace {

using compare::Answer;
using compare::GateResult;

/// Up to what stands inside of it.
std::string open_case(const std::string& name, const std::string& detail,
                      const compare::Limit& limit, const std::string& source) {
  const std::string shown = detail.empty() ? name : name + " in " + detail;
  return fmt::format(
      R"(    <testcase classname="geiger" name="{}")",
      present::in_markup(fmt::format("{} <= {} ({})", shown, limit_text(limit), source)));
}

std::string test_case(const GateResult& result, const CheckReport& report) {
  const std::string head = open_case(result.name, result.detail, result.limit, result.source);
  if (result.answer == Answer::kPass) return head + "/>\n";
  const std::string sentence =
      fmt::format("{}, limit {}", measured_text(result), limit_text(result.limit));
  const bool is_failure = result.answer == Answer::kFail;
  const char* element = is_failure ? "failure" : "error";
  const std::string text =
      is_failure ? sentence : fmt::format("{}; to decide: {}", sentence, advice(result, report));
  return fmt::format("{}>\n      <{} type=\"{}\" message=\"{}\">{}</{}>\n    </testcase>\n", head,
                     element, is_failure ? "limit" : "undecided", present::in_markup(sentence),
                     present::in_markup(text), element);
}

/// A limit on growth without a baseline.
std::string skipped_case(const compare::GateSpec& spec) {
  return open_case(spec.name(), spec.detail(), spec.limit, spec.source) +
         "><skipped message=\"no baseline: nothing compared\"/></testcase>\n";
}

std::uint64_t listed(const CheckReport& report, Answer answer) {
  return static_cast<std::uint64_t>(
      std::ranges::count(report.verdicts.results, answer, &GateResult::answer));
}

/// One case for all the sites that are not listed.
std::string unlisted(std::uint64_t count, const char* what, const char* inside) {
  if (count == 0) return "";
  return fmt::format("    <testcase classname=\"geiger\" name=\"{} more {}\">{}</testcase>\n",
                     present::exact_count(count), what, inside);
}

}  // namespace

std::string to_junit(const CheckReport& report) {
  const compare::Verdicts& verdicts = report.verdicts;
  const std::uint64_t failed = verdicts.failed - listed(report, Answer::kFail);
  const std::uint64_t undecided = verdicts.undecided - listed(report, Answer::kUndecided);
  const std::uint64_t passed = verdicts.passed - listed(report, Answer::kPass);
  std::string body;
  for (const GateResult& result : verdicts.results) body += test_case(result, report);
  for (const compare::GateSpec& spec : report.not_compared) body += skipped_case(spec);
  body += unlisted(failed, "over their limits", "<failure type=\"limit\"/>");
  body += unlisted(undecided, "undecided", "<error type=\"undecided\"/>");
  body += unlisted(passed, "within limits", "");
  const auto one_if = [](std::uint64_t count) { return std::uint64_t{count > 0}; };
  const std::string counts = fmt::format(R"(tests="{}" failures="{}" errors="{}")",
                                         verdicts.results.size() + report.not_compared.size() +
                                             one_if(failed) + one_if(undecided) + one_if(passed),
                                         listed(report, Answer::kFail) + one_if(failed),
                                         listed(report, Answer::kUndecided) + one_if(undecided));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites {}>\n  <testsuite name=\"geiger check\" {} skipped=\"{}\" time=\"0\">\n"
      "{}  </testsuite>\n</testsuites>\n",
      counts, counts, report.not_compared.size(), body);
}

}  // namespace geiger::report
