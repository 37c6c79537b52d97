#include <gmock/gmock.h>

#include <limits>

#include "analysis/present/charts/chart.h"

namespace geiger::present {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Sheet sheet() {
  Chart chart;
  chart.title = "a < b & \"c\"";
  chart.x = {"x", 1, 100, true, {{1, "1"}, {10, "10"}}};
  chart.y = {"y", 0, 10, false, {{0, "0"}, {10, "10"}}};
  chart.curves = {{"first", {{1, 0}, {10, 5}, {100, 10}}}, {"second", {{1, 1}, {100, 1}}}};
  chart.reference = 9.5;
  return {"Title", "what \x1b it shows", "nominal", {chart, chart, chart}, 2};
}

TEST(Axis, PlacesValues) {
  const Axis linear{"", 10, 20, false, {}};
  EXPECT_EQ(linear.place(15), 0.5);
  EXPECT_EQ(linear.place(30), 1);
  const Axis logarithmic{"", 1, 100, true, {}};
  EXPECT_NEAR(logarithmic.place(10), 0.5, 1e-12);
  EXPECT_EQ(logarithmic.place(0), 0);
  EXPECT_EQ(logarithmic.place(-1), 0);
}

TEST(Svg, EscapesWhatItDidNotWrite) {
  const std::string svg = draw_svg(sheet());
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; \"c\""));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  EXPECT_THAT(svg, HasSubstr("<title>Title</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("href")));
}

TEST(Svg, DrawsEveryCurveWithItsMarkersAndTheReference) {
  const std::string svg = draw_svg(sheet());
  const auto count = [&](std::string_view what) {
    int found = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("<polyline"), 6);
  EXPECT_EQ(count("<path"), 3 * 5 + 2);  // Points of three charts, and the legend.
  EXPECT_EQ(count(">nominal<"), 1);
  EXPECT_EQ(count(">first<"), 1);
}

TEST(Svg, LeavesOutWhatIsNotFinite) {
  Sheet bad = sheet();
  bad.charts[0].curves[0].points[1].y = std::numeric_limits<double>::quiet_NaN();
  bad.charts[0].curves[1].points[0].x = std::numeric_limits<double>::infinity();
  const std::string svg = draw_svg(bad);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(draw_svg({}), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace geiger::present
