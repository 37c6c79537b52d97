#include "analysis/report/calculation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace geiger::report {
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

// Without samples there is a limit, and never an infinity or "null".
TEST(Calculation, OfNothingIsTheDetectionLimit) {
  Calculation nothing;
  nothing.sums.could_have_sampled(kT);
  EXPECT_EQ(to_json(nothing).find("null"), std::string::npos);
  EXPECT_NE(to_text(nothing, {}).find("< 1.85 MiB"), std::string::npos) << to_text(nothing, {});
}

}  // namespace
}  // namespace geiger::report
