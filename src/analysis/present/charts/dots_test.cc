#include <gmock/gmock.h>

#include <cmath>

#include "analysis/present/charts/chart.h"
#include "analysis/present/text.h"

namespace geiger::present {
namespace {

using ::testing::ElementsAre;

Chart diagonal() {
  Chart chart;
  chart.title = "up";
  chart.x = {"x", 0, 1, false, {{0, "0"}, {1, "1"}}};
  chart.y = {"y", 0, 1, false, {{0, "0"}, {1, "1"}}};
  chart.curves = {{"line", {{0, 0}, {1, 1}}}};
  return chart;
}

TEST(Dots, DrawsLinesOfOneWidth) {
  EXPECT_THAT(draw_dots(diagonal(), 9, 3, true),
              ElementsAre("up       ", "1 │    ⡠⠊", "  │  ⡠⠊  ", "0 │⡠⠊    ", "  └──────",
                          "   0    1", "     x   "));
}

TEST(Dots, FallsBackToAscii) {
  const auto lines = draw_dots(diagonal(), 9, 3, false);
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find("\xe2\xa0"), std::string::npos) << line;
  }
  EXPECT_THAT(lines[1], ::testing::EndsWith("**"));
}

TEST(Dots, LeavesOutWhatIsNotFinite) {
  Chart chart = diagonal();
  chart.curves[0].points.insert(chart.curves[0].points.begin() + 1, {0.5, std::nan("")});
  EXPECT_EQ(draw_dots(chart, 9, 3, true), draw_dots(diagonal(), 9, 3, true));
  chart.curves = {{"none", {}}};
  chart.reference = 0.5;
  EXPECT_EQ(draw_dots(chart, 9, 3, true).size(), 7U);
}

TEST(Dots, StandBesideEachOther) {
  EXPECT_EQ(beside({"ab", "c"}, {"d"}, 2), "ab  d\nc\n");
  EXPECT_EQ(beside({}, {"d", ""}, 1), " d\n\n");
}

}  // namespace
}  // namespace geiger::present
