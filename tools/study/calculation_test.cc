#include "study/calculation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace geiger::study {
namespace {

constexpr double kT = 524288;

Calculation three_small_and_two_certain() {
  Calculation calculation;
  calculation.is_poisson = true;
  calculation.sums.add(16, 1 / kT, 3);
  calculation.sums.add_certain(8388608, 2);
  return calculation;
}

TEST(Calculation, PrintsResultsAndTheirSums) {
  const std::string text = to_text(three_small_and_two_certain(), {});
  EXPECT_TRUE(text.starts_with("95 % interval\n"));
  EXPECT_NE(text.find("bytes    17.5 MiB [16.3, 20.4]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("18350104.00012207 [17101594.113883"), std::string::npos) << text;
  EXPECT_NE(text.find("  Y   1572888.0001220703 "), std::string::npos) << text;
  EXPECT_NE(text.find("  XC  2 "), std::string::npos) << text;
}

TEST(Calculation, SaysWhichForm) {
  Calculation row = three_small_and_two_certain();
  row.form = estimation::Form::kListed;
  EXPECT_NE(to_text(row, {}).find("of a row that is listed"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(row));
  EXPECT_EQ(json["form"], "listed");
  EXPECT_EQ(json["rate"], "poisson");
  EXPECT_EQ(json["bytes"]["lo"],
            estimation::estimate_bytes(row.sums, 0.95, estimation::Form::kListed).interval.lo);
}

TEST(Calculation, JsonHasEverySum) {
  const Calculation calculation = three_small_and_two_certain();
  const auto json = nlohmann::json::parse(to_json(calculation));
  EXPECT_EQ(json["report"], "estimate");
  EXPECT_EQ(json["samples"], 5);
  EXPECT_EQ(json["sums"]["samples"], 3);
  EXPECT_EQ(json["sums"]["weighted_bytes"], calculation.sums.weighted_bytes);
  EXPECT_EQ(json["sums"]["largest_interval"], kT);
  EXPECT_EQ(json["sums"]["largest_object_weight"], calculation.sums.largest_object_weight);
}

// The worked example of the .NET design text: 8 samples at p = 1/102,400 and u = 10,908.
Calculation dotnet_example() {
  Calculation calculation;
  calculation.sums.add(2000, estimation::rate_of_interval(102400), 8);
  FailedTrials trials;
  trials.interval = 102400;
  trials.untried = 10908;
  trials.weights.add(8 * 102399.0 + 10908, 8 * 102400.0 * 102399.0);
  calculation.failed_trials = trials;
  return calculation;
}

TEST(Calculation, GivesTheLimitsOfTheDotnetText) {
  const Calculation calculation = dotnet_example();
  const auto json = nlohmann::json::parse(to_json(calculation))["failed_trials"];
  EXPECT_EQ(json["bytes"]["value"], 830100);
  EXPECT_EQ(json["up_to_sample"]["lo"], 353666 + 10908);
  EXPECT_EQ(json["up_to_sample"]["hi"], 1476870 + 10908);
  // A window that chance did not choose may go on after the last sample: its text's
  // limit for 9 samples, and a byte.
  EXPECT_EQ(json["bytes"]["lo"], 353666 + 10908);
  EXPECT_EQ(json["bytes"]["hi"], 1614137 + 1 + 10908);
  const std::string text = to_text(calculation, {});
  EXPECT_NE(text.find("by the offsets (failed trials)"), std::string::npos) << text;
  EXPECT_NE(text.find("[364574, 1487778] if recording ended at a sample"), std::string::npos)
      << text;
}

TEST(Calculation, CertainBytesMoveEveryLimit) {
  Calculation calculation = dotnet_example();
  calculation.sums.add_certain(1000000, 1);
  const auto json = nlohmann::json::parse(to_json(calculation))["failed_trials"];
  EXPECT_EQ(json["bytes"]["value"], 1830100);
  EXPECT_EQ(json["bytes"]["exact"], 1000000);
  EXPECT_EQ(json["up_to_sample"]["lo"], 1364574);
  EXPECT_FALSE(
      nlohmann::json::parse(to_json(three_small_and_two_certain())).contains("failed_trials"));
}

// Without samples there is a limit, and never an infinity or "null".
TEST(Calculation, OfNothingIsTheDetectionLimit) {
  Calculation nothing;
  nothing.sums.could_have_sampled(kT);
  EXPECT_EQ(to_json(nothing).find("null"), std::string::npos);
  EXPECT_NE(to_text(nothing, {}).find("< 1.85 MiB"), std::string::npos) << to_text(nothing, {});
}

}  // namespace
}  // namespace geiger::study
