#include "analysis/report/plan/plan.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/present/text.h"
#include "analysis/profile/testing/drawn_recording.h"
#include "analysis/profile/testing/example_recording.h"

namespace geiger::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PlanOptions change(double site, double change) {
  PlanOptions options;
  options.site = site;
  options.change = change;
  return options;
}

// Figures of a design text that gives them (95 % and 80 %), to four digits.
TEST(Plan, GivesTheTwoFiguresOfMemraysText) {
  PlanOptions options;
  options.intervals = {512 * kKiB};
  const PlanReport report = plan_report(options);
  for (const Outlook& one : report.sites) {
    if (one.bytes == 3.0 * 512 * kKiB) {
      EXPECT_NEAR(one.chance, 0.9502, 5e-5);
    }
    if (one.bytes == 1.75 * 512 * kKiB) {
      EXPECT_NEAR(one.chance, 0.8262, 5e-5);
    }
  }
  ASSERT_EQ(report.sites.size(), 8U);
  EXPECT_THAT(to_text(report, {}), HasSubstr("95.0 %"));
  EXPECT_THAT(to_text(report, {}), HasSubstr("82.6 %"));
}

// A tenth more of 1 GiB takes 651 KB: 1,648 samples.
TEST(Plan, FindsTheIntervalForAChange) {
  const PlanReport report = plan_report(change(0x1p30, 0.1));
  ASSERT_EQ(report.goals.size(), 1U);
  EXPECT_NEAR(report.goals[0].samples, 1648, 2);
  EXPECT_NEAR(*report.goals[0].interval, 651e3, 1e3);
  EXPECT_TRUE(report.is_interval_derived);
  EXPECT_EQ(report.interval, 512 * kKiB);
  EXPECT_GE(report.site->samples, report.goals[0].samples);
}

TEST(Plan, TakesTheSmallestIntervalOfAllGoals) {
  PlanOptions options = change(0x1p30, 0.1);
  options.precision = 0.01;
  const PlanReport report = plan_report(options);
  ASSERT_EQ(report.goals.size(), 2U);
  EXPECT_LE(report.interval, std::min(*report.goals[0].interval, *report.goals[1].interval));
  EXPECT_GT(report.interval * 1.26, std::min(*report.goals[0].interval, *report.goals[1].interval));
}

TEST(Plan, RecordsEverythingWhereSamplingCannotDo) {
  const PlanReport report = plan_report(change(100, 0.1));
  EXPECT_EQ(report.interval, 1);
  EXPECT_THAT(to_text(report, {}), HasSubstr("record every allocation"));
  EXPECT_THAT(to_text(report, {}), HasSubstr("--interval 1 --"));
  EXPECT_THAT(to_text(report, {}), Not(HasSubstr("nan")));
}

TEST(Plan, WithoutASiteSaysHowManySamples) {
  PlanOptions options;
  options.change = 0.5;
  const PlanReport report = plan_report(options);
  EXPECT_FALSE(report.goals[0].interval.has_value());
  EXPECT_EQ(report.interval, 512 * kKiB);
  EXPECT_THAT(to_text(report, {}),
              HasSubstr("79 samples in each run: an interval of its bytes / 79"));
}

TEST(Plan, FitsEightyColumns) {
  present::Style style;
  style.width = 80;
  const std::string text = to_text(plan_report(change(10.0 * kMiB, 0.1)), style);
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    EXPECT_LE(present::columns_of(text.substr(start, end - start)), 80U)
        << text.substr(start, end - start);
    start = end + 1;
  }
  EXPECT_THAT(text, HasSubstr("geiger run --interval 6KiB -- PROGRAM"));
}

// A run of 4 KiB is planned at the same interval: as many samples as it had.
TEST(Plan, ReadsSizesAndRatesFromARun) {
  const auto recording = profile::DrawnRecording(4096).threads(1, 2000).recording;
  const PlanReport report = plan_report(PlanOptions{}, recording);
  ASSERT_TRUE(report.run.has_value());
  EXPECT_EQ(report.interval, 4096);
  EXPECT_NEAR(report.run->expected.samples, 2000, 5 * std::sqrt(2000.0));
  EXPECT_NEAR(report.run->events_per_second, report.run->expected.samples, 1e-6);
  PlanOptions goal;
  goal.change = 0.1;
  const PlanReport planned = plan_report(goal, recording);
  // Its objects are not small: fewer samples than asked for know it better.
  EXPECT_LT(planned.run->expected.relative_error, std::sqrt(1 / planned.goals[0].samples));
  EXPECT_GT(planned.run->expected.samples, 1000);
  EXPECT_THAT(to_text(planned, {}), HasSubstr("goal needs"));
}

TEST(Plan, ListsTheFunctionsOfARun) {
  PlanOptions options;
  options.intervals = {64 * kKiB};
  const PlanReport report = plan_report(options, profile::example::small_server());
  ASSERT_GE(report.run->functions.size(), 3U);
  EXPECT_EQ(report.run->functions[0].name, "make_buffer");
  // At 64 KiB its buffers of that size are certain.
  EXPECT_EQ(report.run->functions[0].expected.relative_error, 0);
  EXPECT_THAT(to_text(report, {}), HasSubstr("exact"));
  EXPECT_FALSE(plan_report(options, profile::Recording{}).run.has_value());
}

TEST(Plan, JsonAndPictureHoldNumbersOnly) {
  PlanOptions options = change(10.0 * kMiB, -0.1);
  const PlanReport report = plan_report(options);
  const nlohmann::json json = nlohmann::json::parse(to_json(report));
  EXPECT_EQ(json["report"], "plan");
  EXPECT_EQ(json["goals"][0]["goal"], "change");
  EXPECT_EQ(json["change"], -0.1);
  EXPECT_EQ(json["sites"].size(), 8U);
  EXPECT_FALSE(json.contains("run"));
  const std::string svg = to_svg(report);
  EXPECT_THAT(svg, HasSubstr("chance to see N bytes"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  options.intervals = {1};
  EXPECT_THAT(to_svg(plan_report(options)), Not(HasSubstr("nan")));
  EXPECT_THAT(to_json(plan_report(options)), Not(HasSubstr("null")));
}

// What one sampled object stands for, against its size.
TEST(Plan, ComparesIntervals) {
  PlanOptions options;
  options.intervals = {16 * kKiB, 512 * kKiB};
  const PlanReport report = plan_report(options);
  ASSERT_EQ(report.intervals.size(), 2U);
  const auto& objects = report.intervals[0].objects;
  ASSERT_EQ(objects.size(), report.intervals[1].objects.size());
  EXPECT_NEAR(objects.front().relative_error, 16 * kKiB - 1, 1e-6);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(objects[i].relative_error == 0, objects[i].bytes >= 16 * kKiB);
    EXPECT_GT(report.intervals[1].objects[i].relative_error, objects[i].relative_error);
  }
  EXPECT_EQ(object_chart(report).curves.size(), 2U);
  EXPECT_EQ(chance_chart(report).curves.size(), 2U);
  EXPECT_THAT(to_text(report, {}), AllOf(HasSubstr("at 16 KiB"), HasSubstr("16,383x")));
  EXPECT_THAT(to_svg(report), Not(HasSubstr("nan")));
}

TEST(Plan, OfSeveralIntervalsTheLargestThatReachesTheGoalsIsChosen) {
  PlanOptions options;
  options.intervals = {16 * kKiB, 512 * kKiB, 2 * kMiB};
  EXPECT_EQ(plan_report(options).interval, 16 * kKiB);
  options.site = 1024.0 * kMiB;
  options.change = 0.1;  // Takes 1648 samples: 636 KiB.
  EXPECT_EQ(plan_report(options).interval, 512 * kKiB);
  options.change = 0.001;
  EXPECT_EQ(plan_report(options).interval, 16 * kKiB);
}

TEST(Plan, ChartsEndWhereTheyShould) {
  const PlanReport report = plan_report(PlanOptions{});
  EXPECT_EQ(chance_chart(report).curves[0].points.front().y, 0);
  EXPECT_NEAR(chance_chart(report).curves[0].points.back().y, 100 * (1 - std::exp(-6)), 1e-3);
  EXPECT_NEAR(error_chart(report).curves[0].points.back().y, 1, 1e-3);
}

}  // namespace
}  // namespace geiger::report
