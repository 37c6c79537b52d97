// The exact properties of the sampler; the distribution is in the stat_test.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "sampling/samplers.h"

namespace geiger::sampling::counter_sampler_test {
namespace {

using Kind = Verdict::Kind;
constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

CounterSampler started(std::uint64_t seed, std::uint64_t interval, bool pure) {
  CounterSampler sampler;
  sampler.start(seed, interval, rate_of(interval), pure);
  return sampler;
}

// A sampler whose pending skip count is at least `least`; in pure mode
// countdown() shows it.
CounterSampler with_skip_of_at_least(std::uint64_t least, std::uint64_t interval, bool pure) {
  for (std::uint64_t seed = 1; seed < 100000; ++seed) {
    if (started(seed, interval, true).countdown() >= least) return started(seed, interval, pure);
  }
  ADD_FAILURE() << "no seed draws a skip of " << least;
  return started(1, interval, pure);
}

TEST(CounterSampler, IsUnarmedWhenZeroInitialised) {
  static constinit CounterSampler sampler;
  EXPECT_FALSE(sampler.is_started());
  EXPECT_EQ(sampler.countdown(), 0U);
  EXPECT_EQ(sampler.trial(kHuge).kind, Kind::kNotSampled);
  sampler.settle(5);
  EXPECT_EQ(sampler.countdown(), 0U);
}

// Catches size == skip treated as a hit: the first object after a hit would have one byte too many.
TEST(CounterSampler, SizeEqualToSkipIsAllFailuresAndTheNextByteIsTheHit) {
  CounterSampler sampler = with_skip_of_at_least(2, 64, true);
  EXPECT_EQ(sampler.trial(sampler.countdown()).kind, Kind::kNotSampled);
  EXPECT_EQ(sampler.countdown(), 0U);
  const Verdict next = sampler.trial(1);
  EXPECT_EQ(next.kind, Kind::kSampled);
  EXPECT_EQ(next.offset, 0U);
}

TEST(CounterSampler, OneByteMoreThanSkipIsASampleAtOffsetSkip) {
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    CounterSampler sampler = started(seed, 64, true);
    const std::uint64_t skip = sampler.countdown();
    const Verdict verdict = sampler.trial(skip + 1);
    ASSERT_EQ(verdict.kind, Kind::kSampled);
    ASSERT_EQ(verdict.offset, skip);
  }
}

// Catches trials of the tail: the bytes after the drawn one in its allocation must not change the
// fresh skip count.
TEST(CounterSampler, BytesBehindTheHitAreNotTested) {
  CounterSampler one_more = started(9, 64, true);
  CounterSampler many_more = started(9, 64, true);
  one_more.trial(one_more.countdown() + 1);
  many_more.trial(many_more.countdown() + 100000);
  EXPECT_EQ(one_more.countdown(), many_more.countdown());
}

// Catches a trial for an object of 0 bytes, most easily right after a hit with skip 0.
TEST(CounterSampler, SizeZeroIsNeverASampleAndChangesNothing) {
  for (const bool pure : {false, true}) {
    CounterSampler sampler = started(3, 2, pure);
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t before = sampler.countdown();
      ASSERT_EQ(sampler.trial(0).kind, Kind::kNotSampled);
      ASSERT_EQ(sampler.countdown(), before);
      sampler.trial(1);
    }
  }
}

// Catches an addition that wraps for sizes that no allocator can serve.
TEST(CounterSampler, LargestSizeIsDecidedWithoutWrapping) {
  CounterSampler pure = with_skip_of_at_least(10, 64, true);
  const std::uint64_t skip = pure.countdown();
  const Verdict verdict = pure.trial(kHuge);
  EXPECT_EQ(verdict.kind, Kind::kSampled);
  EXPECT_EQ(verdict.offset, skip);
  EXPECT_EQ(started(1, 64, false).trial(kHuge).kind, Kind::kCertain);
}

// Sizes T - 1, T, T + 1. Catches `size > T` for the certain rule.
TEST(CounterSampler, ObjectsOfAtLeastTheIntervalAreCertain) {
  constexpr std::uint64_t kInterval = 64;
  CounterSampler sampler = with_skip_of_at_least(2 * kInterval, kInterval, false);
  EXPECT_EQ(sampler.trial(kInterval).kind, Kind::kCertain);
  EXPECT_EQ(sampler.trial(kInterval + 1).kind, Kind::kCertain);
  EXPECT_EQ(sampler.trial(kInterval - 1).kind, Kind::kNotSampled);
}

// Catches certain objects that use up the skip count (their neighbours would be sampled too often)
// or that are lost because the counter was armed beyond T - 1.
TEST(CounterSampler, CertainObjectsLeaveTheSkipCountAlone) {
  constexpr std::uint64_t kInterval = 64;
  for (std::uint64_t seed = 1; seed < 300; ++seed) {
    CounterSampler pure = started(seed, kInterval, true);
    CounterSampler mixed = started(seed, kInterval, false);
    for (int i = 0; i < 50; ++i) {
      ASSERT_LT(mixed.countdown(), kInterval);
      ASSERT_EQ(mixed.trial(kInterval + i).kind, Kind::kCertain);
      const Verdict expected = pure.trial(10);
      const Verdict actual = mixed.trial(10);
      ASSERT_EQ(actual.kind, expected.kind);
      ASSERT_EQ(actual.offset, expected.offset);
    }
  }
}

TEST(CounterSampler, PureModeKnowsNoCertainObjects) {
  CounterSampler sampler = with_skip_of_at_least(200, 64, true);
  EXPECT_GE(sampler.countdown(), 200U);
  EXPECT_EQ(sampler.trial(100).kind, Kind::kNotSampled);
  EXPECT_EQ(sampler.trial(kHuge).kind, Kind::kSampled);
}

// The reason for the counter form: bytes may pass in any grouping. Catches a settle() that is off
// by one or uses the wrong counter.
TEST(CounterSampler, SettlingEqualsTryingEveryAllocation) {
  Xoshiro256pp sizes(5);
  for (const bool pure : {false, true}) {
    CounterSampler direct = started(11, 1000, pure);
    CounterSampler counted = started(11, 1000, pure);
    std::uint64_t armed = counted.countdown();
    std::uint64_t left = armed;
    for (int i = 0; i < 100000; ++i) {
      const std::uint64_t size = sizes.next() % 1100 >> (sizes.next() % 11);
      const Verdict expected = direct.trial(size);
      Verdict actual;
      if (size <= left) {
        left -= size;
      } else {
        counted.settle(armed - left);
        actual = counted.trial(size);
        left = armed = counted.countdown();
      }
      ASSERT_EQ(actual.kind, expected.kind) << i;
      ASSERT_EQ(actual.offset, expected.offset) << i;
    }
  }
}

TEST(CounterSampler, SettlingTooMuchTakesWhatWasHandedOut) {
  CounterSampler sampler = with_skip_of_at_least(100, 64, false);
  sampler.settle(kHuge);
  EXPECT_GE(sampler.countdown(), 100U - 63U);
  CounterSampler pure = with_skip_of_at_least(100, 64, true);
  pure.settle(kHuge);
  EXPECT_EQ(pure.countdown(), 0U);
}

// T = 1: the skip count is always 0 and lambda infinite. Catches 0 * inf.
TEST(CounterSampler, IntervalOneTakesEveryNonzeroAllocation) {
  CounterSampler pure = started(1, 1, true);
  CounterSampler certain = started(1, 1, false);
  for (std::uint64_t size = 0; size < 1000; ++size) {
    EXPECT_EQ(pure.countdown(), 0U);
    EXPECT_EQ(certain.countdown(), 0U);
    EXPECT_EQ(pure.trial(size).kind, size == 0 ? Kind::kNotSampled : Kind::kSampled);
    EXPECT_EQ(certain.trial(size).kind, size == 0 ? Kind::kNotSampled : Kind::kCertain);
  }
}

// Catches objects of 0 bytes that use up trials of bytes, or random numbers of their skips.
TEST(CounterSampler, ObjectsWithoutBytesDoNotChangeOtherDecisions) {
  CounterSampler with = started(5, 4, true);
  CounterSampler without = started(5, 4, true);
  for (int i = 0; i < 1000; ++i) {
    with.decide(0);
    with.passes_empty();
    const Verdict expected = without.decide(i % 7);
    const Verdict actual = with.decide(i % 7);
    if (i % 7 == 0) continue;  // Decided by a number of its own.
    ASSERT_EQ(actual.kind, expected.kind) << i;
    ASSERT_EQ(actual.offset, expected.offset) << i;
    ASSERT_EQ(with.countdown(), without.countdown()) << i;
  }
}

// The runtime asks passes_empty() first. Catches one that draws anew after it said no.
TEST(CounterSampler, AnObjectWithoutBytesThatDoesNotPassIsASample) {
  CounterSampler asked = started(7, 16, false);
  CounterSampler decided = started(7, 16, false);
  for (int i = 0; i < 10'000; ++i) {
    const bool passes = asked.passes_empty();
    ASSERT_EQ(passes, decided.decide(0).kind == Kind::kNotSampled) << i;
    if (passes) continue;
    const Verdict verdict = asked.decide(0);
    ASSERT_EQ(verdict.kind, Kind::kSampled) << i;
    ASSERT_EQ(verdict.offset, 0U);
  }
  CounterSampler all = started(1, 1, false);
  EXPECT_EQ(all.decide(0).kind, Kind::kSampled);
  CounterSampler unarmed;
  EXPECT_FALSE(unarmed.passes_empty());
  EXPECT_EQ(unarmed.decide(0).kind, Kind::kNotSampled);
}

// Catches a change that keeps the old skip count under the new rate, and one
// that restarts the generator.
TEST(CounterSampler, ChangingTheIntervalRedrawsFromTheSameGenerator) {
  CounterSampler changed = started(21, 1 << 20, true);
  changed.change_interval(64, rate_of(64));
  Xoshiro256pp generator(21);
  generator.next();
  EXPECT_EQ(changed.countdown(), skip_count_of(generator.next(), rate_of(64)));
  EXPECT_EQ(changed.interval(), 64U);
  EXPECT_TRUE(changed.is_pure());
  changed.change_interval(1, rate_of(1));
  EXPECT_EQ(changed.countdown(), 0U);
}

// Catches a fork that redraws only the seed: the child's pending skip would
// still be the parent's.
TEST(CounterSampler, ReseedingReplacesGeneratorAndPendingSkip) {
  CounterSampler child = started(1, 1 << 20, true);
  child.trial(100);
  child.reseed(2);
  EXPECT_EQ(child.countdown(), started(2, 1 << 20, true).countdown());
  EXPECT_EQ(child.interval(), std::uint64_t{1} << 20);
}

TEST(SkipCountOf, GivesTheReferenceSkips) {
  const auto vectors =
      nlohmann::json::parse(std::ifstream(GEIGER_SOURCE_DIR "/tests/vectors/statistics.json"));
  int compared = 0;
  for (const auto& row : vectors["skip"]["rows"]) {
    const auto interval = row["T"].get<std::uint64_t>();
    const double lambda =
        row["convention"] == "poisson" ? 1.0 / static_cast<double>(interval) : rate_of(interval);
    const std::uint64_t k = std::stoull(row["k"].get<std::string>());
    const auto expected = row["skip"].get<std::uint64_t>();
    const std::uint64_t skip = skip_count_of(k << 11, lambda);
    EXPECT_LE(std::max(skip, expected) - std::min(skip, expected), 1U) << row;
    const double slack = 1e-15 * static_cast<double>(expected);
    if (row["distance_to_integer"].get<double>() <= slack) continue;
    EXPECT_EQ(skip, expected) << row;
    ++compared;
  }
  EXPECT_GT(compared, 40);
}

// The ends of u's range. Catches u = 0 (sampler off for good) and a clamp that
// is needed but absent.
TEST(SkipCountOf, IsDefinedAtBothEndsForEveryInterval) {
  for (int log2 = 1; log2 < 64; ++log2) {
    const double lambda = rate_of(std::uint64_t{1} << log2);
    EXPECT_EQ(skip_count_of(kHuge, lambda), 0U);  // u = 1.
    const double largest = 36.736800569677103 / lambda;
    const std::uint64_t skip = skip_count_of(0, lambda);  // u = 2^-53.
    if (largest < 0x1p64) {
      EXPECT_NEAR(static_cast<double>(skip), largest, 1 + largest * 1e-15) << log2;
    } else {
      EXPECT_EQ(skip, kHuge) << log2;
    }
  }
}

}  // namespace
}  // namespace geiger::sampling::counter_sampler_test
