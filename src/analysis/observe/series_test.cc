#include <gtest/gtest.h>

#include <random>

#include "analysis/observe/observer.h"

namespace geiger::observe {
namespace {

profile::MemoryCounts resident(Bytes bytes) { return {.resident = bytes, .anonymous = bytes}; }

TEST(Series, KeepsFewReadingsAsTheyAre) {
  Series series;
  for (Nanoseconds i = 0; i < Series::kMostPoints; ++i) {
    series.add(i * Series::kFirstStep, resident(i));
  }
  ASSERT_EQ(series.points().size(), Series::kMostPoints);
  EXPECT_EQ(series.step(), Series::kFirstStep);
  EXPECT_EQ(series.points()[100].counts.resident, 100U);
  EXPECT_EQ(series.points()[100].least, 100U);
}

TEST(Series, ThinsWithoutLosingExtremes) {
  Series series;
  std::mt19937_64 random(1);
  Bytes least = ~Bytes{0};
  Bytes most = 0;
  Nanoseconds most_time = 0;
  for (Nanoseconds i = 0; i < 50'000; ++i) {
    const Bytes bytes = random() % 1'000'000'000;
    least = std::min(least, bytes);
    if (bytes > most) most_time = i;
    most = std::max(most, bytes);
    series.add(i * Series::kFirstStep, resident(bytes));
  }
  EXPECT_LE(series.points().size(), Series::kMostPoints);
  EXPECT_GE(series.points().size(), Series::kMostPoints / 2);
  EXPECT_EQ(series.step(), 16 * Series::kFirstStep);
  Bytes kept_least = ~Bytes{0};
  Bytes kept_most = 0;
  Nanoseconds last = 0;
  for (const profile::SeriesPoint& point : series.points()) {
    EXPECT_LE(last, point.time);
    last = point.time;
    kept_least = std::min(kept_least, point.least);
    if (point.counts.resident > kept_most) {
      EXPECT_TRUE(point.counts.resident < most || point.time == most_time * Series::kFirstStep);
    }
    kept_most = std::max(kept_most, point.counts.resident);
  }
  EXPECT_EQ(kept_least, least);
  EXPECT_EQ(kept_most, most);
}

TEST(Series, MergesReadingsWithinAStep) {
  Series series;
  series.add(1000, resident(5));
  series.add(2000, resident(9));
  series.add(3000, resident(2));
  ASSERT_EQ(series.points().size(), 1U);
  EXPECT_EQ(series.points()[0].time, 2000U);
  EXPECT_EQ(series.points()[0].counts.resident, 9U);
  EXPECT_EQ(series.points()[0].least, 2U);
}

}  // namespace
}  // namespace geiger::observe
