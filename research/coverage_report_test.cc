#include "research/coverage_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace geiger::research {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two cells: all methods hold but the third, which fails in the first cell; the
// second method has nothing to answer for there.
CoverageReport report() {
  CoverageReport report;
  report.samples = {0.5, 1000};
  CellTally cell{};
  for (MethodTally& tally : cell) tally = {1000, 960, 15, 25, 250, 62.6};
  MixRow row{Mix::kHuge, {cell, cell}};
  row.cells[0][1] = {};
  row.cells[0][2] = {1000, 400, 500, 100, 100, 10};
  report.mixes.push_back(row);
  report.settings.replicates = 1000;
  return report;
}

TEST(CoverageReport, ReadsLikeThis) {
  CoverageReport wide = report();
  wide.has_widths = true;
  EXPECT_EQ(to_text(wide, {}), R"(Coverage of 95 % intervals, in %
1,000 replicates a cell, seed 1, each byte sampled independently
columns: expected samples; each figure ± 3.1 at most (95 %); ! significantly below 95

huge             0.5   1000
FF-SG           96.0   96.0
FF-SG listed       -   96.0
normal          40.0!  96.0
NB (s,s)        96.0   96.0
NB (s,s+1)      96.0   96.0
Camp-Paulson    96.0   96.0

Mean width, in units of the true bytes; each figure ± 0.3 % at most (2 standard errors)

huge             0.5   1000
FF-SG           0.25   0.25
FF-SG listed       -   0.25
normal           0.1   0.25
NB (s,s)        0.25   0.25
NB (s,s+1)      0.25   0.25
Camp-Paulson    0.25   0.25

)");
}

TEST(CoverageReport, JsonGivesEveryShareItsInterval) {
  const nlohmann::json json = nlohmann::json::parse(to_json(report()));
  EXPECT_EQ(json["report"], "simulate");
  const nlohmann::json& normal = json["mixes"][0]["cells"][0]["methods"][2];
  EXPECT_EQ(normal["method"], "normal");
  EXPECT_EQ(normal["coverage"]["value"], 0.4);
  EXPECT_LT(normal["coverage"]["lo"], 0.4);
  EXPECT_GT(normal["coverage"]["hi"], 0.4);
  EXPECT_EQ(normal["missed_below"], 500);
  const nlohmann::json& nothing = json["mixes"][0]["cells"][0]["methods"][1];
  EXPECT_EQ(nothing["replicates"], 0);
  EXPECT_EQ(nothing["coverage"]["hi"], 1.0);
}

CoverageReport report_of_patterns() {
  CoverageReport one = report();
  one.mixes.clear();
  PatternTally cell{};
  for (SchemeTally& tally : cell) tally = {{1000, 960, 15, 25, 250, 62.6}, 90};
  cell[2] = {{1000, 0, 750, 250, 250, 62.6}, 3000};
  one.patterns.push_back({Pattern::kEveryFourth, {cell, cell}});
  return one;
}

TEST(CoverageReport, PatternsReadLikeThis) {
  EXPECT_THAT(to_text(report_of_patterns(), {}), HasSubstr(R"(
Coverage of FF-SG by sampling scheme, in %; of a quarter of all objects, 16 bytes each

every 4th        0.5   1000
Bernoulli       96.0   96.0
jittered        96.0   96.0
fixed stride     0.0!   0.0!

Root mean square error of the estimate, in %

every 4th        0.5   1000
Bernoulli         30     30
jittered          30     30
fixed stride     173    173
)"));
  EXPECT_THAT(to_text(report_of_patterns(), {}),
              AllOf(Not(HasSubstr("more certain")), Not(HasSubstr("sampled independently"))));
  const nlohmann::json json = nlohmann::json::parse(to_json(report_of_patterns()));
  const nlohmann::json& fixed = json["patterns"][0]["cells"][1]["schemes"][2];
  EXPECT_EQ(fixed["scheme"], "fixed stride");
  EXPECT_EQ(fixed["coverage"]["value"], 0);
  EXPECT_NEAR(fixed["error"], 1.732, 1e-3);
  EXPECT_THAT(to_svg(report_of_patterns()), HasSubstr(">fixed stride<"));
}

TEST(CoverageReport, PictureHasThePanels) {
  const std::string svg = to_svg(report());
  EXPECT_THAT(svg, HasSubstr(">huge<"));
  EXPECT_THAT(svg, HasSubstr(">nominal, 95 %<"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace geiger::research
