#include "analysis/report/overview/rss.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace geiger::report {
namespace {

RssReport half_explained(Bytes resident, Bytes high_water) {
  RssReport report;
  report.resident = resident;
  report.high_water = high_water;
  report.after = 40'000'000;
  report.rows.push_back({RssPart::kLiveHeap, {}, {0.5, {0.5, 0.5}}});
  return report;
}

TEST(ExplainedLine, SaysWhatTheLargestReadingMissed) {
  EXPECT_EQ(explained_line(half_explained(90 * kMiB, 100 * kMiB)),
            "malloc profile explains 50 % of 90 MiB RSS at its maximum");
  EXPECT_EQ(explained_line(half_explained(90 * kMiB - 1, 100 * kMiB)),
            "malloc profile explains 50 % of 90.00 MiB RSS at its largest reading, 40 ms after the "
            "start (the kernel's maximum: 100 MiB)");
  EXPECT_EQ(
      explained_line(half_explained(49 * kMiB, 100 * kMiB)),
      "no reading was near the maximum RSS, 100 MiB: the largest, 40 ms after the start, found "
      "49 MiB");
  RssReport last = half_explained(90 * kMiB, 200 * kMiB);
  last.options.moment = profile::Moment::kLast;
  EXPECT_EQ(explained_line(last), "malloc profile explains 50 % of 90 MiB RSS at its last reading");
  EXPECT_EQ(explained_line({}), "");
}

}  // namespace
}  // namespace geiger::report
