#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "fleet/turns/turn_keeper.h"

namespace geiger::fleet {
namespace {

constexpr std::int64_t kHour = 3600, kMidnight = 1'700'000'400 / kHour * kHour;

Schedule schedule_of(double share, const std::string& salt = {}) {
  return {.length = 120, .period = kHour, .share = share, .salt = salt};
}

/// How many of `hosts` hosts record in both of two hours under two schedules.
int both(const Schedule& one, std::int64_t first, const Schedule& other, std::int64_t second,
         int hosts) {
  int count = 0;
  for (int i = 0; i < hosts; ++i) {
    const std::string host = "web-" + std::to_string(i);
    count += turn_in_period(one, host, first) && turn_in_period(other, host, second) ? 1 : 0;
  }
  return count;
}

TEST(Schedules, AreReadAsPeopleTypeThem) {
  const auto schedule = parse_schedule("2m/1h");
  ASSERT_TRUE(schedule.has_value());
  EXPECT_EQ(schedule->length, 120);
  EXPECT_EQ(schedule->period, kHour);
  for (const char* wrong : {"", "2m", "2m/", "/1h", "1h/2m", "0s/1h", "2m/1h/1h", "1h/900h"}) {
    EXPECT_FALSE(parse_schedule(wrong).has_value()) << wrong;
  }
  EXPECT_DOUBLE_EQ(parse_host_share("2.5%").value(), 0.025);
  for (const char* wrong : {"", "5", "0%", "101%", "-1%", "nan%", "%"}) {
    EXPECT_FALSE(parse_host_share(wrong).has_value()) << wrong;
  }
}

/// Binomial, 4 sigma each: a false alarm in 1 of 8,000 choices of the hash.
TEST(Schedules, TheShareOfHostsRecords) {
  constexpr int kHosts = 40'000;
  for (const double share : {0.05, 0.5, 1.0}) {
    const Schedule schedule = schedule_of(share);
    const double sigma = std::sqrt(kHosts * share * (1 - share));
    EXPECT_NEAR(both(schedule, kMidnight, schedule, kMidnight, kHosts), kHosts * share, 4 * sigma);
    // Hours, and schedules with other salts, choose independently.
    const double two = share * share, two_sigma = std::sqrt(kHosts * two * (1 - two));
    EXPECT_NEAR(both(schedule, kMidnight, schedule, kMidnight + kHour, kHosts), kHosts * two,
                4 * two_sigma);
    EXPECT_NEAR(both(schedule, kMidnight, schedule_of(share, "other"), kMidnight, kHosts),
                kHosts * two, 4 * two_sigma);
  }
}

TEST(Schedules, ATurnIsTheSameWheneverItIsAskedForAndWithinItsPeriod) {
  const Schedule schedule = schedule_of(1);
  double sum = 0;
  constexpr int kHosts = 1000;
  for (int i = 0; i < kHosts; ++i) {
    const std::string host = "web-" + std::to_string(i);
    const auto turn = turn_in_period(schedule, host, kMidnight);
    const auto late = turn_in_period(schedule, host, kMidnight + kHour - 1);
    ASSERT_TRUE(turn && late);
    EXPECT_EQ(turn->begin, late->begin);
    EXPECT_GE(turn->begin, kMidnight);
    EXPECT_LE(turn->end, kMidnight + kHour);
    EXPECT_EQ(turn->end - turn->begin, 120);
    sum += static_cast<double>(turn->begin - kMidnight);
  }
  // Uniform beginnings: 4 sigma of their mean.
  const double width = kHour - 120;
  EXPECT_NEAR(sum / kHosts, width / 2, 4 * width / std::sqrt(12.0 * kHosts));
}

}  // namespace
}  // namespace geiger::fleet
