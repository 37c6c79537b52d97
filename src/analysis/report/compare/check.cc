#include "analysis/report/compare/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/grid.h"
#include "analysis/present/heading.h"
#include "analysis/present/text.h"
#include "analysis/report/compare/diff.h"
#include "analysis/report/profiles/table.h"

namespace geiger::present {

using compare::GateSpec;

static const Fields<GateSpec>& fields_of(Of<GateSpec> /*type*/) {
  static const auto kFields =
      Fields<GateSpec>()
          .field("name", "", &GateSpec::name)
          .field("detail", "", &GateSpec::detail)
          .field("source", "option, or file and line", &GateSpec::source)
          .field("limit", "", [](const GateSpec& it) { return it.limit.most; });
  return kFields;
}

}  // namespace geiger::present

namespace geiger::report {

namespace {

using compare::Answer;
using compare::GateResult;
using compare::Measured;
using present::Fields;
using present::Of;

/// Where runs differ more than this beyond the sampling, a smaller interval alone
/// would not decide.
constexpr double kSamplingDominates = 1.5;
/// No advice beyond this many runs or below such an interval.
constexpr double kMostRuns = 1000;

std::string growth_text(const GateResult& result) {
  const double hi = result.hi.value_or(std::numeric_limits<double>::infinity());
  if (result.value) return present::growth_figure(*result.value, {result.lo, hi}).text();
  return result.samples_after > 0 ? "none before" : "no samples";
}

std::string bytes_text(const GateResult& result) {
  const double hi = result.hi.value_or(result.value.value_or(0));
  estimation::Estimate bytes;
  bytes.value = result.value.value_or(0);
  bytes.interval = {result.lo, hi};
  bytes.samples = bytes.value > 0 ? 1 : 0;
  bytes.open = result.open;
  return present::figure(bytes, present::Quantity::kBytes).text();
}

/// Intervals as people type them: whole KiB, rounded down to two binary digits.
std::string interval_to_type(double interval) {
  const auto whole = static_cast<Bytes>(std::max(interval, 1.0));
  const Bytes power = std::bit_floor(whole);
  const Bytes nice = power >= 2 && whole >= power + power / 2 ? power + power / 2 : power;
  return nice >= kKiB && nice % kKiB == 0 ? fmt::format("{}KiB", nice / kKiB)
                                          : std::to_string(nice);
}

std::string runs_advice(double effort, const CheckReport& report) {
  const auto most =
      static_cast<double>(std::max(report.before.runs.size(), report.after.runs.size()));
  const double runs = std::ceil(most * effort);
  if (runs > kMostRuns)
    return fmt::format("more {}s than practical: the value is too close to the limit",
                       report.options.run);
  return fmt::format("about {:.0f} {}s per side", std::max(runs, most + 1), report.options.run);
}

std::string heading(const CheckReport& report, const present::Style& style) {
  const compare::Verdicts& verdicts = report.verdicts;
  std::string title(compare::name_of(verdicts.answer));
  std::ranges::transform(title, title.begin(), [](char c) { return static_cast<char>(c - 32); });
  const present::Role role =
      verdicts.answer == Answer::kPass ? present::Role::kHeading : present::Role::kWarning;
  std::string counts;
  const auto add = [&counts](std::uint64_t count, const char* what) {
    if (count == 0) return;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", present::exact_count(count), what);
  };
  add(verdicts.failed, "failed");
  add(verdicts.undecided, "undecided");
  add(verdicts.passed, "passed");
  return fmt::format(
      "{}: {} ({}{}; {} limits)\n\n", present::paint(style, role, title), counts,
      present::bytes_of(report.options.scope, report.kind),
      report.before.runs.size() + report.after.runs.size() > 2 ? " per " + report.options.per : "",
      present::level_text(report.options.level));
}

/// Limits that nothing was compared with, by where each was given.
std::string not_compared(const CheckReport& report) {
  std::string sources;
  for (const compare::GateSpec& spec : report.not_compared) {
    sources += fmt::format("{}{}", sources.empty() ? "" : ", ", present::printable(spec.source));
  }
  if (sources.empty()) return "";
  return fmt::format("No baseline: nothing compared. Not checked: {}.\n", sources);
}

/// For the first gates that are undecided; the others need much the same.
std::string to_decide(const CheckReport& report) {
  constexpr std::size_t kSaid = 3;
  std::string out;
  std::size_t said = 0;
  for (const GateResult& result : report.verdicts.results) {
    if (result.answer != Answer::kUndecided || ++said > kSaid) continue;
    out +=
        fmt::format("To decide {}: {}.\n", present::printable(result.name), advice(result, report));
  }
  return out;
}

std::string footer(const CheckReport& report, std::uint64_t left_out) {
  std::string out;
  if (left_out > 0) {
    out += fmt::format("{} not passed and not shown; --top 0 shows them.\n",
                       present::plural(left_out, "gate"));
  }
  if (report.verdicts.ignored_bytes > 0) {
    out +=
        fmt::format("Parts of the program may exceed a limit on growth by {} (--ignore-below).\n",
                    present::bound_bytes(report.verdicts.ignored_bytes));
  }
  if (report.before.is_split || report.after.is_split) out += present::split_note();
  if (report.after.shares_process) {
    out += "Both sides are recordings of one process: objects that both have cancel out.\n";
  } else if (report.before.runs.size() == 1 && report.after.runs.size() == 1) {
    out += fmt::format(
        "One {0} per side: intervals include the sampling error, not {0}-to-{0} variation.\n",
        report.options.run);
  }
  return out;
}

}  // namespace

std::string measured_text(const GateResult& result) {
  return result.limit.measured == Measured::kGrowth ? growth_text(result) : bytes_text(result);
}

std::string limit_text(const compare::Limit& limit) {
  if (limit.measured == Measured::kBytes)
    return present::exact_bytes(present::whole_number(limit.most));
  return fmt::format("{:+.6g} %", 100 * limit.most);
}

std::string advice(const GateResult& result, const CheckReport& report) {
  if (result.answer != Answer::kUndecided) return "";
  if (!result.lacks.empty()) return fmt::format("record again: {}", result.lacks);
  if (result.open > 0) {
    const bool is_at_limit =
        report.before.has_stacks_at_limit() || report.after.has_stacks_at_limit();
    return fmt::format(
        "{} may be its: of {}, functions without a name, or what filters cannot tell",
        present::bound_bytes(result.open), present::cut_stacks(is_at_limit));
  }
  const bool has_several = report.before.runs.size() > 1 || report.after.runs.size() > 1;
  if (result.is_exact && !has_several) {
    return "let the program exit normally, so that its last bytes are counted";
  }
  if (!result.value || !result.hi)
    return "a much smaller --interval: this one misses most of its samples";
  if (!result.effort) return "more samples would not help: the value is too close to the limit";
  if (has_several && (result.is_exact || result.dispersion > kSamplingDominates)) {
    return runs_advice(*result.effort, report);
  }
  const double interval = std::max(report.before.largest_interval, report.after.largest_interval);
  if (interval / *result.effort < 1) return "no interval is small enough, not even 1 B";
  const std::string typed = interval_to_type(interval / *result.effort);
  const std::string runs = has_several ? ", or " + runs_advice(*result.effort, report) : "";
  return fmt::format("geiger run --interval {} -- PROGRAM{}", typed, runs);
}

std::string to_text(const CheckReport& report, const present::Style& style) {
  const auto& results = report.verdicts.results;
  std::vector<present::Column> columns{{"", present::Align::kLeft, false},
                                       {"measured", present::Align::kLeft, false},
                                       {"limit", present::Align::kRight, false},
                                       {"gate", present::Align::kLeft, false}};
  present::Grid grid(std::move(columns));
  const std::size_t top = report.options.top == 0 ? results.size() : report.options.top;
  for (std::size_t i = 0; i < std::min(top, results.size()); ++i) {
    const GateResult& result = results[i];
    present::add_row(grid,
                     {std::string(compare::name_of(result.answer)),
                      measured_text(result) + (result.is_exact ? " counted" : ""),
                      limit_text(result.limit), present::printable(result.name)},
                     result.name, result.detail, report.grouping.by, style,
                     result.answer == Answer::kPass);
  }
  const std::uint64_t others = report.verdicts.failed + report.verdicts.undecided;
  const auto listed = static_cast<std::uint64_t>(std::ranges::count_if(
      results.begin(), results.begin() + static_cast<std::ptrdiff_t>(std::min(top, results.size())),
      [](const GateResult& result) { return result.answer != Answer::kPass; }));
  const std::uint64_t unlisted = others - listed;
  const bool has_gates = report.verdicts.passed + others > 0;
  std::string out = has_gates ? heading(report, style) : "";
  if (!results.empty()) out += grid.text(style) + "\n";
  return out + present::wrap_lines(not_compared(report) + to_decide(report), style.width) +
         present::paint(style, present::Role::kFaint,
                        present::wrap_lines(footer(report, unlisted), style.width)) +
         text_of(report.options.scope.fleet, style);
}

namespace {

/// A result with what its fields need of the others.
struct GateOf {
  const GateResult& it;
  const CheckReport& report;
};

std::vector<GateOf> gates_of(const CheckReport& report) {
  std::vector<GateOf> gates;
  for (const GateResult& result : report.verdicts.results) gates.push_back({result, report});
  return gates;
}

std::vector<std::string_view> answers() {
  return present::texts_of<Answer>([](Answer answer) { return name_of(answer); });
}

/// What JSON cannot hold becomes null.
double or_nothing(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

const Fields<GateOf>& fields_of(Of<GateOf> /*type*/) {
  static const auto kFields =
      Fields<GateOf>("gate", "Growth is a ratio: 0.05 is 5 %.")
          .field("answer", "", [](const GateResult& it) { return name_of(it.answer); })
          .one_of(answers())
          .inlined([](const GateOf& it) {
            return present::Named{it.it.name,
                                  present::is_named_by_functions(it.report.grouping.by)};
          })
          .field("detail", "of the pattern or site; the whole is `total`", &GateResult::detail)
          .field("source", "option, or file and line", &GateResult::source)
          .field("measured", "",
                 [](const GateResult& it) {
                   return it.limit.measured == Measured::kGrowth ? "growth" : "bytes";
                 })
          .one_of({"growth", "bytes"})
          .field("limit", "", [](const GateResult& it) { return it.limit.most; })
          .field("value", "null: growth from nothing that was seen",
                 [](const GateResult& it) { return or_nothing(it.value); })
          .or_null()
          .field("lo", "what a fail is decided by", &GateResult::lo)
          .field("hi", "what a pass is decided by; null where nothing bounds it",
                 [](const GateResult& it) { return or_nothing(it.hi); })
          .or_null()
          .field("is_exact", "counted, not estimated", &GateResult::is_exact)
          .field("effort",
                 "how many times as many samples would decide; null if more would not help",
                 [](const GateResult& it) { return or_nothing(it.effort); })
          .or_null()
          .field("to_decide", "the same as a sentence; empty if decided",
                 [](const GateOf& it) { return advice(it.it, it.report); })
          .field("lacks",
                 "what the recordings lack, so that no number of samples decides; or empty",
                 &GateResult::lacks)
          .field("open", "bytes of which it is not known whether they are its",
                 [](const GateResult& it) { return present::if_true(it.open > 0, it.open); });
  return kFields;
}

}  // namespace

const Fields<CheckReport>& fields_of(Of<CheckReport> /*type*/) {
  const auto of = [](auto compare::Verdicts::*member) {
    return [member](const CheckReport& it) { return it.verdicts.*member; };
  };
  static const auto kFields =
      Fields<CheckReport>("check")
          .field("kind", "what is compared", &CheckReport::kind)
          .field("by", "what a site is", [](const CheckReport& it) { return it.grouping.by; })
          .one_of({"function", "stack", "module", "label"})
          .field("level", "confidence level of all answers",
                 [](const CheckReport& it) { return it.options.level; })
          .inlined([](const CheckReport& it) { return it.options.scope; })
          .field("answer", "exit codes 0, 4, 3",
                 [](const CheckReport& it) { return name_of(it.verdicts.answer); })
          .one_of(answers())
          .field("passed", "gates", of(&compare::Verdicts::passed))
          .field("failed", "gates", of(&compare::Verdicts::failed))
          .field("undecided", "gates", of(&compare::Verdicts::undecided))
          .field("ignored_bytes", "by which a part may exceed a limit on growth",
                 of(&compare::Verdicts::ignored_bytes))
          .field("site_gates", "gates of `--by`, in all; those that pass are not listed",
                 of(&compare::Verdicts::site_gates))
          .field("before", "",
                 [](const CheckReport& it) {
                   return SideOf{it.before, it.options.before};
                 })
          .field("after", "",
                 [](const CheckReport& it) {
                   return SideOf{it.after, it.options.after};
                 })
          .field("gates", "", &gates_of)
          .field("not_compared",
                 "limits on growth that were skipped: no baseline (`--allow-missing-baseline`)",
                 &CheckReport::not_compared);
  return kFields;
}

std::string to_json(const CheckReport& report) { return present::document("check", report); }

// JUnit XML as CI servers read it: testsuites > testsuite > testcase, with failure or
// error inside.

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
