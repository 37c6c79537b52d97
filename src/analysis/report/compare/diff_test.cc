#include "analysis/report/compare/diff.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/compare/test_sides.h"
#include "analysis/present/text.h"

namespace geiger::report {
namespace {

using compare::collect_runs;
using compare::run_with;
using profile::GroupBy;
using profile::Kind;
using ::testing::HasSubstr;
using ::testing::Not;

using Runs = std::vector<profile::TestRecording>;

Runs before() {
  return {run_with({{"parse", 900}, {"make_buffer", 100}, {"load", 40}, {"rare", 1}}, 65536)};
}
Runs after() {
  return {run_with({{"parse", 910}, {"make_buffer", 260}, {"cache", 30}, {"rare", 2}}, 65536)};
}

DiffReport diff_of(const Runs& left, const Runs& right, DiffOptions options = {},
                   GroupBy by = GroupBy::kFunction, Kind kind = Kind::kAllocated) {
  options.before = {"old.geiger"};
  options.after = {"new.geiger"};
  return diff_report(compare::compare(collect_runs(left, right, kind, {}, {by, false}), 0.95),
                     options);
}

TEST(Diff, ReadsLikeThis) {
  EXPECT_EQ(to_text(diff_of(before(), after()), {}),
            R"(Change of allocated bytes, by function: 95 % intervals
  before  old.geiger  interval 64 KiB
  after   new.geiger  interval 64 KiB

                before            after            change
  counted    65.06 MiB        75.12 MiB        +10.06 MiB        +15.5 %
  estimated   65.1 MiB ± 4.1   75.1 MiB ± 4.4   +10.1 MiB ± 5.9

               change                     after                     q  function
grew        +10.0 MiB ± 2.2            16.2 MiB ± 1.9         < 1e-12  make_buffer  target
not seen    -2.50 MiB [-3.41, -1.75]  < 237 KiB                 2e-12  load  target
first seen  +1.88 MiB [+1.22, +2.68]   1.88 MiB [1.26, 2.68]    1e-09  cache  target

1 function differs by no more than noise, 1 has too few samples to say; --all shows them.
first seen: no samples before, so less than 237 KiB there.
not seen: no samples after, so less than 237 KiB there.
q: expected share of false positives up to this row.
Detectable with 80 % power: a new function of 503 KiB, a change of the total by 8.24 MiB.
One run per side: the intervals include the sampling error, not run-to-run variation. Several runs
per side include both.
)");
}

/// The totals of several kinds in one line each; what follows is of the one that changed most.
TEST(Diff, OpensOnTheKindThatChangedMost) {
  const Runs kept{run_with({{"parse", 900}, {"leak", 300}}, 65536)};
  Runs freed = kept;
  for (profile::Sample& sample : freed[0].recording.samples) {
    if (sample.stack != freed[0].recording.samples.front().stack) sample.free_time = 3000;
  }
  std::vector<compare::Comparison> comparisons;
  for (const Kind kind : {Kind::kLiveAtEnd, Kind::kAllocated}) {
    comparisons.push_back(
        compare::compare(collect_runs(kept, freed, kind, {}, {GroupBy::kFunction, false}), 0.95));
  }
  DiffOptions options;
  options.before = options.after = {"a"};
  const DiffReport report = diff_of_most_changed(comparisons, options);
  EXPECT_EQ(report.comparison.collected.kind, Kind::kLiveAtEnd);
  const std::string text = to_text(report, {});
  EXPECT_THAT(text, testing::ContainsRegex("  live .* shrank\n  allocated .*no change shown\n"));
  EXPECT_THAT(text, HasSubstr("Rows: live, whose total changed by the largest share."));
  const auto json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["kind"], "live");
  EXPECT_EQ(json["kinds"].size(), 2U);
  EXPECT_EQ(json["kinds"][0]["verdict"], "shrank");
  comparisons.pop_back();
  EXPECT_TRUE(diff_of_most_changed(comparisons, options).kinds.empty());
}

/// A row is a change by its test; its interval is of the calibrated bytes.
TEST(Diff, IntervalsOfChangesEndAtZero) {
  const Runs left{run_with({{"parse", 100}}, 65536)};
  for (int samples = 3; samples < 20; ++samples) {
    const Runs right{run_with({{"parse", 100}, {"new", samples}}, 65536)};
    for (const auto& [before, after] : {std::pair(left, right), std::pair(right, left)}) {
      for (const DiffRow& row : rows_of(diff_of(before, after))) {
        const estimation::Interval& interval = row.it.change.interval;
        EXPECT_TRUE(interval.lo >= 0 || interval.hi <= 0) << samples;
        const std::string shown = present::change_figure(row.it.change.value, interval).text();
        const double half =
            std::max(interval.hi - row.it.change.value, row.it.change.value - interval.lo);
        EXPECT_TRUE(half < std::abs(row.it.change.value) || shown.ends_with(']')) << shown;
      }
    }
  }
}

/// Objects of unknown types may be of any: no type is said to have shrunk by less than they may be.
TEST(Diff, TypesAreOpenByWhatIsOfUnknownType) {
  const auto typed = [](int known, int unknown) {
    profile::TestRecording test(65536);
    const std::uint32_t stack = test.stack({test.location({"make"})});
    test.recording.types.push_back({"Request"});
    for (int i = 0; i < known + unknown; ++i) {
      test.sample(stack, 100).type = i < known ? 0 : profile::kNone;
    }
    return test;
  };
  const auto row_of = [&](const DiffReport& report) {
    for (const DiffRow& row : rows_of(report)) {
      if (row.site().name == "Request") return row.it;
    }
    return compare::Row{};
  };
  DiffOptions all;
  all.shows_all = true;
  const auto sure = row_of(diff_of({typed(400, 0)}, {typed(100, 0)}, all, GroupBy::kType));
  EXPECT_EQ(sure.verdict, compare::Verdict::kShrank);
  const auto open = row_of(diff_of({typed(400, 0)}, {typed(100, 400)}, all, GroupBy::kType));
  EXPECT_GT(open.change.interval.hi, 0);
  EXPECT_FALSE(compare::is_change(open.verdict));
}

TEST(Diff, SaysWhichFunctionsMayHaveMoved) {
  const auto at_line = [](profile::TestRecording run, std::uint32_t line) {
    for (profile::Frame& frame : run.recording.frames) {
      frame.file = "store.cc";
      frame.line = frame.function == "parse" ? line : 5;
    }
    return run;
  };
  const Runs left{at_line(before()[0], 20)}, right{at_line(before()[0], 23)};
  const std::string text = to_text(diff_of(left, right, {}, GroupBy::kLine), {});
  EXPECT_THAT(text, HasSubstr("by line: 95 %"));
  EXPECT_THAT(text, HasSubstr("store.cc:20"));
  EXPECT_THAT(text, HasSubstr("store.cc:23"));
  EXPECT_THAT(text, HasSubstr("1 function with lines seen only before and lines seen only after"));
  for (const auto& [right_side, by] :
       {std::pair(left, GroupBy::kLine), std::pair(right, GroupBy::kFunction)}) {
    EXPECT_THAT(to_text(diff_of(left, right_side, {}, by), {}), Not(HasSubstr("lines seen only")));
  }
}

TEST(Diff, WideTerminalsShowBothSidesAndWhatCouldBeFound) {
  present::Style wide;
  wide.width = 160;
  EXPECT_THAT(to_text(diff_of(before(), after()), wide), HasSubstr("detectable"));
}

TEST(Diff, NoLineIsWiderThanTheTerminal) {
  Runs left = before();
  Runs right = after();
  for (Runs* runs : {&left, &right}) {
    runs->front().recording.threads[0].armed = 450'000;
    for (auto& frame : runs->front().recording.frames) frame.function += std::string(300, 'n');
  }
  for (const std::size_t width : {80U, 100U, 120U, 160U}) {
    present::Style style;
    style.width = width;
    DiffOptions options;
    options.shows_all = true;
    const std::string text = to_text(diff_of(left, right, options), style);
    std::size_t start = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', start)) {
      EXPECT_LE(present::columns_of(text.substr(start, end - start)), width) << text;
      start = end + 1;
    }
  }
}

TEST(Diff, AllShowsNoiseToo) {
  DiffOptions options;
  options.shows_all = true;
  present::Style style;
  style.has_color = true;
  const std::string text = to_text(diff_of(before(), after(), options), style);
  EXPECT_THAT(text, HasSubstr("\x1b[2mnoise"));
  EXPECT_THAT(text, HasSubstr("\x1b[2m?"));
  EXPECT_THAT(text, Not(HasSubstr("--all")));
}

TEST(Diff, SortsAndCutsWhatIsShown) {
  DiffOptions options;
  options.sort = DiffSort::kName;
  const DiffReport by_name = diff_of(before(), after(), options);
  std::vector<std::string> names;
  for (const std::size_t line : by_name.lines) {
    const auto& rows = by_name.comparison.rows;
    names.push_back(by_name.comparison.collected.sites[rows[line].site].name);
  }
  EXPECT_THAT(names, testing::ElementsAre("cache", "load", "make_buffer"));
  options.top = 1;
  EXPECT_THAT(to_text(diff_of(before(), after(), options), {}),
              HasSubstr("\n2 more functions; --top 0 shows them.\n"));
}

TEST(Diff, SaysWhenNothingChanged) {
  EXPECT_THAT(to_text(diff_of(before(), before()), {}),
              HasSubstr("No change exceeds the noise.\n"));
  EXPECT_THAT(to_text(diff_of({run_with({})}, {run_with({})}), {}), HasSubstr("No change"));
}

TEST(Diff, SaysWhatItsIntervalsHold) {
  const std::string one = to_text(diff_of(before(), after()), {});
  EXPECT_THAT(one, HasSubstr("sampling error, not run-to-run variation"));
  Runs several = before();
  several.push_back(before().front());
  EXPECT_THAT(to_text(diff_of(several, after()), {}),
              Not(HasSubstr("sampling error, not run-to-run variation")));
  EXPECT_THAT(to_text(diff_of(several, after()), {}), HasSubstr("2 runs, interval 64 KiB"));
}

TEST(Diff, OtherKindsAreNotCounted) {
  const std::string text =
      to_text(diff_of(before(), after(), {}, GroupBy::kFunction, Kind::kLiveAtEnd), {});
  EXPECT_THAT(text, HasSubstr("Change of bytes live at the end, by function"));
  EXPECT_THAT(text, Not(HasSubstr("counted")));
}

TEST(Diff, JsonHasEveryNumberWithItsInterval) {
  const auto json = nlohmann::json::parse(to_json(diff_of(before(), after(), {}, GroupBy::kStack)));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["report"], "diff");
  EXPECT_EQ(json["by"], "stack");
  EXPECT_EQ(json["before"]["runs"][0], "old.geiger");
  EXPECT_EQ(json["exact"]["change"], 161 * 65536);
  EXPECT_EQ(json["row_count"], 5);
  EXPECT_EQ(json["changes"], 3);
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["name"], "make_buffer");
  EXPECT_EQ(row["verdict"], "grew");
  EXPECT_LT(row["change"]["lo"], row["change"]["value"]);
  EXPECT_LT(row["change"]["q"], 1e-9);
  EXPECT_EQ(row["stack"][1]["function"], "main");
  EXPECT_EQ(row["stack"][1]["module"], "target");
}

TEST(Diff, HostileNamesStayHarmless) {
  Runs left = before();
  Runs right = after();
  for (Runs* side : {&left, &right}) {
    for (auto& frame : side->front().recording.frames) frame.function += "\x1b[2J\n</x>";
  }
  const std::string text = to_text(diff_of(left, right), {});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_TRUE(nlohmann::json::accept(to_json(diff_of(left, right))));
}

}  // namespace
}  // namespace geiger::report
