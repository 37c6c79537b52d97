#include <gtest/gtest.h>
#include <unistd.h>

#include "control/run_watch.h"

namespace geiger::control {
namespace {

using Kind = Condition::Kind;

TEST(Condition, IsReadInEachForm) {
  const auto rss = parse_condition("rss > 2GiB");
  ASSERT_TRUE(rss.has_value());
  EXPECT_EQ(rss.value().kind, Kind::kRss);
  EXPECT_EQ(rss.value().bytes, 2 * kGiB);
  EXPECT_EQ(rss.value().text, "rss>2GiB");
  EXPECT_EQ(parse_condition("rss+=256MiB").value().bytes, 256 * kMiB);
  EXPECT_DOUBLE_EQ(parse_condition("cgroup>80%").value().share, 0.8);
  EXPECT_DOUBLE_EQ(parse_condition("psi>10%").value().share, 0.1);
  EXPECT_EQ(parse_condition("every=10m").value().period, Nanoseconds{600} * 1'000'000'000);
}

TEST(Condition, IsRefusedWithItsText) {
  for (const char* text : {"", "rss", "rss>", "rss>x", "rss>0", "rss>-1", "rss<2GiB", "rss+=",
                           "rss+=0", "cgroup>80", "cgroup>0%", "cgroup>101%", "cgroup>nan%",
                           "psi>%", "psi>-1%", "every=", "every=1ms", "every=x", "swap>1GiB"}) {
    const auto condition = parse_condition(text);
    EXPECT_FALSE(condition.has_value()) << text;
    EXPECT_FALSE(condition.reason().empty());
  }
}

class Watched {
 public:
  explicit Watched(const char* text) : trigger_(parse_condition(text).value(), 1000) {}
  bool rss(Bytes bytes) { return trigger_.fires({.now = 0, .resident = bytes}); }
  bool cgroup(std::optional<double> share) {
    return trigger_.fires({.now = 0, .resident = 0, .cgroup_share = share, .pressure = {}});
  }
  bool at(Nanoseconds now) { return trigger_.fires({.now = now}); }

 private:
  Trigger trigger_;
};

TEST(Trigger, FiresOnceWhenPassedAndAgainAfterItWasUndershot) {
  Watched watched("rss>100MiB");
  EXPECT_FALSE(watched.rss(100 * kMiB));
  EXPECT_TRUE(watched.rss(101 * kMiB));
  EXPECT_FALSE(watched.rss(120 * kMiB));
  EXPECT_FALSE(watched.rss(96 * kMiB));  // Within a twentieth, so noise.
  EXPECT_FALSE(watched.rss(101 * kMiB));
  EXPECT_FALSE(watched.rss(95 * kMiB));
  EXPECT_TRUE(watched.rss(101 * kMiB));
}

TEST(Trigger, FiresAtPeaksThatAreAQuarterHigher) {
  Watched watched("peak");
  EXPECT_TRUE(watched.rss(100 * kMiB));
  EXPECT_FALSE(watched.rss(125 * kMiB));
  EXPECT_TRUE(watched.rss(126 * kMiB));
  EXPECT_FALSE(watched.rss(100 * kMiB));
  EXPECT_FALSE(watched.rss(150 * kMiB));
}

TEST(Trigger, FiresAtEachStepOfGrowthFromWhereItLastDid) {
  Watched watched("rss+=10MiB");
  EXPECT_FALSE(watched.rss(5 * kMiB));
  EXPECT_FALSE(watched.rss(14 * kMiB));
  EXPECT_TRUE(watched.rss(15 * kMiB));
  EXPECT_FALSE(watched.rss(24 * kMiB));
  EXPECT_TRUE(watched.rss(60 * kMiB));
  EXPECT_FALSE(watched.rss(1 * kMiB));
  EXPECT_FALSE(watched.rss(61 * kMiB));
}

TEST(Trigger, NeverFiresOnWhatIsNotKnown) {
  Watched watched("cgroup>50%");
  EXPECT_FALSE(watched.cgroup({}));
  EXPECT_TRUE(watched.cgroup(0.6));
  EXPECT_FALSE(watched.cgroup({}));
}

TEST(Trigger, FiresOncePerPeriodWithoutDrifting) {
  constexpr Nanoseconds kPeriod = 10'000'000;
  Watched watched("every=10ms");
  EXPECT_FALSE(watched.at(1000));
  EXPECT_FALSE(watched.at(999 + kPeriod));
  EXPECT_TRUE(watched.at(1000 + kPeriod + 5));
  EXPECT_FALSE(watched.at(999 + 2 * kPeriod));
  EXPECT_TRUE(watched.at(1000 + 7 * kPeriod + 1));  // Late: once.
  EXPECT_FALSE(watched.at(999 + 8 * kPeriod));
  EXPECT_TRUE(watched.at(1000 + 8 * kPeriod));
}

TEST(Pressure, IsTheShareOfTheLastTenSeconds) {
  EXPECT_DOUBLE_EQ(
      *parse_pressure("some avg10=12.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=1.00\n"), 0.125);
  for (const char* text :
       {"", "some avg10=", "some avg10=x ", "some avg10=101 ", "full avg10=1 "}) {
    EXPECT_FALSE(parse_pressure(text)) << text;
  }
}

TEST(MemoryReadings, AreThoseOfTheProcess) {
  EXPECT_GT(read_memory(getpid(), 7).resident, 0U);
  EXPECT_EQ(read_memory(getpid(), 7).now, 7U);
  EXPECT_EQ(read_memory(-1, 7).resident, 0U);
}

}  // namespace
}  // namespace geiger::control
