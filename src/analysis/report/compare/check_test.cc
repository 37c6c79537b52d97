#include "analysis/report/compare/check.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/compare/test_sides.h"

namespace geiger::report {
namespace {

using compare::collect_runs;
using compare::Gates;
using compare::Measured;
using compare::run_with;
using profile::Kind;
using ::testing::HasSubstr;
using ::testing::Not;

using Runs = std::vector<profile::TestRecording>;

/// A whole, three functions and every site of their own.
Gates three_gates() {
  Gates gates;
  gates.specs = {{{}, {Measured::kBytes, 4 << 20}, "--max-bytes"},
                 {{"make_*", "*"}, {Measured::kGrowth, 0.2}, "budget.txt:3"},
                 {{"parse", "lib*"}, {Measured::kGrowth, 0.2}, "budget.txt:4"},
                 {{"load", "*"}, {Measured::kGrowth, 0.2}, "budget.txt:5"}};
  return gates;
}

CheckReport check_of(const Runs& before, const Runs& after, const Gates& gates,
                     Kind kind = Kind::kAllocated) {
  std::vector<compare::Pattern> patterns;
  for (const auto& spec : gates.specs) patterns.push_back(spec.pattern);
  const auto collected = collect_runs(before, after, kind, patterns);
  CheckOptions options;
  options.before = {"old.geiger"};
  options.after = {"new.geiger"};
  return {options,          check(collected, gates), kind, collected.grouping,
          collected.before, collected.after};
}

CheckReport example() {
  return check_of({run_with({{"make_<a>", 100}, {"load", 1000}})},
                  {run_with({{"make_<a>", 300}, {"load", 1150}})}, three_gates());
}

TEST(Check, ReadsLikeThis) {
  EXPECT_EQ(to_text(example(), {}),
            R"(FAIL: 1 failed, 1 undecided, 2 passed (allocated bytes; 95 % limits)

           measured               limit  gate
pass       1.42 MiB counted       4 MiB  total
fail       +200 % ± 66            +20 %  make_*
pass       no samples             +20 %  parse  lib*
undecided  +15.0 % [+4.9, +23.5]  +20 %  load

To decide load: geiger run --interval 192 -- PROGRAM.
Parts of the program may exceed a limit on growth by 11.1 KiB (--ignore-below).
One run per side: intervals include the sampling error, not run-to-run variation.
)");
}

TEST(Check, JUnitHasACasePerGate) {
  EXPECT_EQ(to_junit(example()),
            R"xml(<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" errors="1">
  <testsuite name="geiger check" tests="4" failures="1" errors="1" skipped="0" time="0">
    <testcase classname="geiger" name="total &lt;= 4 MiB (--max-bytes)"/>
    <testcase classname="geiger" name="make_* &lt;= +20 % (budget.txt:3)">
      <failure type="limit" message="+200 % ± 66, limit +20 %">+200 % ± 66, limit +20 %</failure>
    </testcase>
    <testcase classname="geiger" name="parse in lib* &lt;= +20 % (budget.txt:4)"/>
    <testcase classname="geiger" name="load &lt;= +20 % (budget.txt:5)">
      <error type="undecided" message="+15.0 % [+4.9, +23.5], limit +20 %">+15.0 % [+4.9, +23.5], limit +20 %; to decide: geiger run --interval 192 -- PROGRAM</error>
    </testcase>
  </testsuite>
</testsuites>
)xml");
}

TEST(Check, JsonHasEveryGate) {
  const auto json = nlohmann::json::parse(to_json(example()));
  EXPECT_EQ(json["report"], "check");
  EXPECT_EQ(json["answer"], "fail");
  EXPECT_EQ(json["passed"], 2);
  EXPECT_EQ(json["failed"], 1);
  EXPECT_EQ(json["undecided"], 1);
  ASSERT_EQ(json["gates"].size(), 4U);
  EXPECT_EQ(json["gates"][0]["is_exact"], true);
  EXPECT_EQ(json["gates"][1]["answer"], "fail");
  EXPECT_EQ(json["gates"][1]["source"], "budget.txt:3");
  EXPECT_NEAR(json["gates"][1]["value"], 2, 1e-9);
  EXPECT_TRUE(json["gates"][2]["value"].is_null()) << "nothing was seen";
  EXPECT_THAT(json["gates"][3]["to_decide"], HasSubstr("geiger run --interval "));
}

TEST(Check, WithoutABaselineGrowthIsNotCompared) {
  const Runs after = {run_with({{"make_a", 300}, {"load", 1150}})};
  Gates gates = three_gates();
  const auto taken = take_growth_limits(gates);
  CheckReport report = check_of({}, after, gates);
  report.not_compared = taken;
  EXPECT_EQ(to_text(report, {}), R"(PASS: 1 passed (allocated bytes; 95 % limits)

      measured          limit  gate
pass  1.42 MiB counted  4 MiB  total

No baseline: nothing compared. Not checked: budget.txt:3, budget.txt:4, budget.txt:5.
)");
  EXPECT_THAT(to_junit(report), HasSubstr(R"(tests="4" failures="0" errors="0" skipped="3")"));
  EXPECT_THAT(to_junit(report),
              HasSubstr("name=\"parse in lib* &lt;= +20 % (budget.txt:4)\"><skipped message="));
  const auto json = nlohmann::json::parse(to_json(report));
  ASSERT_EQ(json["not_compared"].size(), 3U);
  EXPECT_EQ(json["not_compared"][1]["detail"], "lib*");
}

TEST(Check, WithoutABaselineOrAnotherLimitItIsOneLine) {
  CheckReport report = check_of({}, {run_with({{"make", 300}})}, {});
  report.not_compared = {{{}, {Measured::kGrowth, 0.05}, "--max-growth"}};
  EXPECT_EQ(to_text(report, {}), "No baseline: nothing compared. Not checked: --max-growth.\n");
  EXPECT_EQ(report.verdicts.answer, compare::Answer::kPass);
}

TEST(Check, AdviceCanBeTyped) {
  const CheckReport report = example();
  EXPECT_EQ(advice(report.verdicts.results[1], report), "") << "decided";
  EXPECT_THAT(advice(report.verdicts.results[3], report),
              testing::MatchesRegex("geiger run --interval [0-9]+ -- PROGRAM"));
}

TEST(Check, SeveralRunsNeedMoreRunsWhereRunsDiffer) {
  const auto total = [](int samples) { return run_with({{"make", samples}}); };
  Gates gates;
  gates.specs = {{{}, {Measured::kGrowth, 0.05}, "--max-growth"}};
  const CheckReport report = check_of({total(900), total(1000), total(1100)},
                                      {total(1000), total(1100), total(1220)}, gates);
  ASSERT_EQ(report.verdicts.answer, compare::Answer::kUndecided);
  EXPECT_THAT(advice(report.verdicts.results[0], report),
              testing::MatchesRegex("about [0-9]+ runs per side"));
  EXPECT_THAT(to_text(report, {}), HasSubstr("To decide total: about "));
}

TEST(Check, NothingWrongIsOneLine) {
  Gates gates;
  gates.per_site = {{{Measured::kGrowth, 0.5}, "--max-growth"}};
  const Runs same{run_with({{"make", 1000}})};
  EXPECT_THAT(to_text(check_of(same, same, gates), {}),
              HasSubstr("PASS: 1 passed (allocated bytes; 95 % limits)\n"));
  EXPECT_THAT(to_junit(check_of(same, same, gates)), HasSubstr("1 more within limits"));
}

TEST(Check, HostileNamesStayHarmless) {
  Gates gates;
  gates.per_site = {{{Measured::kGrowth, 0.0}, "--max-growth"}};
  const CheckReport report = check_of({run_with({{"a\x1b\x01\xff\"'&]]>", 10}})},
                                      {run_with({{"a\x1b\x01\xff\"'&]]>", 1000}})}, gates);
  const std::string xml = to_junit(report);
  EXPECT_THAT(xml, Not(HasSubstr("\x1b")));
  EXPECT_THAT(xml, Not(HasSubstr("\x01")));
  EXPECT_THAT(xml, Not(HasSubstr("\xff")));
  EXPECT_THAT(xml, HasSubstr("&quot;"));
  EXPECT_THAT(xml, HasSubstr("&amp;]]&gt;"));
  EXPECT_TRUE(nlohmann::json::accept(to_json(report)));
}

}  // namespace
}  // namespace geiger::report
