#include "openmetrics/open_metrics.h"

#include <gtest/gtest.h>

namespace geiger::openmetrics {
namespace {

bool holds(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(OpenMetrics, HaveUnitsAndIntervals) {
  Process process;
  process.labels = {{"pid", "17"}};
  process.live_bytes = {1e9, 9.5e8, 1.0625e9};
  process.allocated = 12345678901234;
  process.missing = 5;
  process.guard_chosen = 9;
  process.guarded = 7;
  const std::string text = text_of({process}, 0.95, "1.2");
  EXPECT_TRUE(holds(text, "# TYPE geiger_live_heap_bytes gauge"));
  EXPECT_TRUE(holds(text, "# UNIT geiger_live_heap_bytes bytes"));
  EXPECT_TRUE(holds(text, "geiger_live_heap_bytes{pid=\"17\"} 1e+09"));
  EXPECT_TRUE(holds(text, "geiger_live_heap_lower_bytes{pid=\"17\"} 9.5e+08"));
  EXPECT_TRUE(holds(text, "geiger_live_heap_upper_bytes{pid=\"17\"} 1.0625e+09") ||
              holds(text, "geiger_live_heap_upper_bytes{pid=\"17\"} 1062500000"));
  EXPECT_TRUE(holds(text, "# TYPE geiger_allocated_bytes counter"));
  EXPECT_TRUE(holds(text, "geiger_allocated_bytes_total{pid=\"17\"} 12345678901234"));
  EXPECT_TRUE(holds(text, "geiger_allocated_missing_bytes{pid=\"17\"} 5"));
  EXPECT_TRUE(holds(text, "geiger_guard_chosen_samples_total{pid=\"17\"} 9"));
  EXPECT_TRUE(holds(text, "geiger_guarded_samples_total{pid=\"17\"} 7"));
  EXPECT_TRUE(holds(text, "geiger_confidence_level_ratio 0.95"));
  EXPECT_TRUE(text.ends_with("geiger_build_info{version=\"1.2\"} 1\n# EOF\n"));
}

TEST(OpenMetrics, LeaveOutWhatIsNotKnown) {
  const std::string text = text_of({Process{}}, 0.95, "1.2");
  EXPECT_EQ(text.find("live_heap"), std::string::npos);
  EXPECT_EQ(text.find("allocated"), std::string::npos);
  EXPECT_EQ(text.find("resident"), std::string::npos);
  EXPECT_EQ(text.find("guard"), std::string::npos);
  EXPECT_TRUE(holds(text, "geiger_recording 0"));
  EXPECT_TRUE(text_of({}, 0.95, "1.2").ends_with("# EOF\n"));
}

TEST(OpenMetrics, HaveValidLabelsWhateverTheyHold) {
  Process process;
  process.labels = {{"program",
                     "a\"b\\c\nd\xff"
                     "e"}};
  EXPECT_TRUE(holds(text_of({process}, 0.95, "1"),
                    "geiger_recording{program=\"a\\\"b\\\\c\\nd\xef\xbf\xbd"
                    "e\"} 0"));
}

TEST(OpenMetrics, MoveNoCursor) {
  Process process;
  process.labels = {{"program", "a\x1b[2J\x01\u009b\u202e\U000e0041z"}};
  EXPECT_TRUE(holds(text_of({process}, 0.95, "1"),
                    R"(geiger_recording{program="a\\x1b[2J\\x01\\x9b\\u202e\\ue0041z"} 0)"));
}

TEST(OpenMetrics, KeepTheProcessesOfAFamilyTogether) {
  Process one, two;
  one.labels = {{"pid", "1"}};
  two.labels = {{"pid", "2"}};
  one.interval = two.interval = 512;
  EXPECT_NE(text_of({one, two}, 0.95, "1")
                .find("geiger_sampling_interval_bytes{pid=\"1\"} 512\n"
                      "geiger_sampling_interval_bytes{pid=\"2\"} 512\n"),
            std::string::npos);
}

}  // namespace
}  // namespace geiger::openmetrics
