// JUnit XML as CI servers read it: testsuites > testsuite > testcase, with failure or
// error inside.
#include <fmt/format.h>

#include "analysis/report/check.h"
#include "analysis/report/text.h"

namespace geiger::report {
namespace {

using compare::Answer;
using compare::GateResult;

/// For attributes and text. Names come from the target: what XML cannot hold at all
/// is shown as printable() shows it.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string case_name(const GateResult& result) {
  return result.detail.empty() ? result.name : result.name + " in " + result.detail;
}

std::string test_case(const GateResult& result, const CheckReport& report) {
  const std::string name =
      fmt::format("{} <= {} ({})", case_name(result), limit_text(result.limit), result.source);
  const std::string head = fmt::format("    <testcase classname=\"geiger\" name=\"{}\"", xml(name));
  if (result.answer == Answer::kPass) return head + "/>\n";
  const std::string sentence =
      fmt::format("{}, limit {}", measured_text(result), limit_text(result.limit));
  const bool is_failure = result.answer == Answer::kFail;
  const char* element = is_failure ? "failure" : "error";
  const std::string text =
      is_failure ? sentence : fmt::format("{}; to decide: {}", sentence, advice(result, report));
  return fmt::format("{}>\n      <{} type=\"{}\" message=\"{}\">{}</{}>\n    </testcase>\n", head,
                     element, is_failure ? "limit" : "undecided", xml(sentence), xml(text),
                     element);
}

/// Sites that pass: one case stands for them all.
std::string passed_sites(const CheckReport& report, std::uint64_t& cases) {
  std::uint64_t listed = 0;
  for (const GateResult& result : report.verdicts.results) {
    listed += result.answer == Answer::kPass ? 1U : 0U;
  }
  const std::uint64_t others = report.verdicts.passed - listed;
  if (others == 0) return "";
  ++cases;
  return fmt::format("    <testcase classname=\"geiger\" name=\"{} more within limits\"/>\n",
                     others);
}

}  // namespace

std::string to_junit(const CheckReport& report) {
  std::uint64_t cases = report.verdicts.results.size();
  std::string body;
  for (const GateResult& result : report.verdicts.results) body += test_case(result, report);
  body += passed_sites(report, cases);
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", cases,
                                         report.verdicts.failed, report.verdicts.undecided);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites {}>\n  <testsuite name=\"geiger check\" {} skipped=\"0\" time=\"0\">\n"
      "{}  </testsuite>\n</testsuites>\n",
      counts, counts, body);
}

}  // namespace geiger::report
