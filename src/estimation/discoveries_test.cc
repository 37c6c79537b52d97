#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "estimation/difference.h"

namespace geiger::estimation::discoveries_test {
namespace {

TEST(AdjustedPValues, GiveTheReference) {
  const auto vectors =
      nlohmann::json::parse(std::ifstream(GEIGER_SOURCE_DIR "/tests/vectors/statistics.json"));
  const auto& block = vectors["benjamini_hochberg"];
  const std::vector<double> p = block["p"];
  const std::vector<double> adjusted = adjusted_p_values(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double expected = block["adjusted"][i];
    EXPECT_NEAR(adjusted[i], expected, 1e-10 * expected) << i;
    EXPECT_EQ(adjusted[i] <= block["q"].get<double>(), block["rejected"][i].get<bool>()) << i;
  }
}

TEST(AdjustedPValues, NeverFallBelowTheirOwnAndKeepTheOrder) {
  const std::vector<double> p{0.9, 0.01, 0.01, 0.03, 1, 0};
  const std::vector<double> adjusted = adjusted_p_values(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_GE(adjusted[i], p[i]);
    for (std::size_t j = 0; j < p.size(); ++j) {
      if (p[i] < p[j]) {
        EXPECT_LE(adjusted[i], adjusted[j]);
      }
    }
  }
  EXPECT_EQ(adjusted[1], adjusted[2]);
}

TEST(AdjustedPValues, TakeWhatIsNoProbabilityAsHarmless) {
  const std::vector<double> p{std::nan(""), -1, 7, 0.02, std::numeric_limits<double>::infinity()};
  const std::vector<double> adjusted = adjusted_p_values(p);
  EXPECT_EQ(adjusted, (std::vector<double>{1, 0, 1, 0.05, 1}));
  EXPECT_TRUE(adjusted_p_values({}).empty());
}

}  // namespace
}  // namespace geiger::estimation::discoveries_test
