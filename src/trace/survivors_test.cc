#include "trace/survivors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace geiger::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

CarriedRecord carried(Nanoseconds time, Address address, Ref previous) {
  CarriedRecord record{};
  record.sample.time = time;
  record.sample.address = address;
  record.previous = previous;
  return record;
}

std::vector<char> left(const Survivors<char>& survivors) {
  std::vector<char> places;
  survivors.for_each_left([&](char place, Nanoseconds, Address) { places.push_back(place); });
  return places;
}

struct ThreeSurvivors : ::testing::Test {
  ThreeSurvivors() {
    survivors.add(30, 3, 0x10, 'c');
    survivors.add(10, 1, 0x10, 'a');
    survivors.add(0, 2, 0x20, 'b');
  }
  Survivors<char> survivors;
};

TEST_F(ThreeSurvivors, AreFoundByReferenceAndByBirthOnce) {
  EXPECT_THAT(survivors.take(carried(1, 0x10, 10), true), Optional('a'));
  EXPECT_THAT(survivors.take(carried(2, 0x20, 0), true), Optional('b'));
  EXPECT_FALSE(survivors.take(carried(1, 0x10, 10), true)) << "carried twice";
  EXPECT_THAT(left(survivors), ElementsAre('c'));
}

TEST_F(ThreeSurvivors, AReferenceIsOneOfTheSegmentBeforeOnly) {
  EXPECT_THAT(survivors.take(carried(3, 0x10, 10), false), Optional('c'));
  EXPECT_FALSE(survivors.take(carried(4, 0x10, 10), true)) << "a stranger";
  EXPECT_FALSE(survivors.take(carried(1, 0x20, 0), true));
}

TEST_F(ThreeSurvivors, MoreMayBeAddedAfterOneWasFound) {
  EXPECT_THAT(survivors.take(carried(3, 0x10, 0), true), Optional('c'));
  survivors.add(20, 5, 0x50, 'd');
  EXPECT_THAT(survivors.take(carried(5, 0x50, 0), true), Optional('d'));
  EXPECT_FALSE(survivors.take(carried(3, 0x10, 30), true));
}

TEST(Thinning, OnlyRisesAndKeepsTheSameSamples) {
  Thinning thinning{7};
  const auto kept = [&] {
    std::vector<Address> addresses;
    for (Address at = 0; at < 4096; ++at) {
      if (thinning.keeps(1000, at)) addresses.push_back(at);
    }
    return addresses;
  };
  EXPECT_EQ(kept().size(), 4096U);
  thinning.add({.header = 0, .time = 0, .level = 1, .reserved = 0});
  const auto half = kept();
  // Binomial(4096, 1/2): five standard deviations are 160.
  EXPECT_NEAR(static_cast<double>(half.size()), 2048, 160);
  thinning.add({.header = 0, .time = 0, .level = 0, .reserved = 0});
  EXPECT_EQ(kept(), half);
  thinning.add({.header = 0, .time = 0, .level = ~0U, .reserved = 0});
  EXPECT_EQ(thinning.level, Thinning::kMost);
  EXPECT_TRUE(kept().empty());
}

}  // namespace
}  // namespace geiger::trace
