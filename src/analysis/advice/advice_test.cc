#include "analysis/advice/advice.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/profile/testing/test_recording.h"

namespace geiger::advice {
namespace {

using profile::Sample;

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Bytes kInterval = 64 * kKiB;

/// A run of ten seconds with samples of objects whose bytes are many times the interval: nothing
/// is left to chance.
class AdviceOfARun : public testing::Test {
 protected:
  AdviceOfARun() {
    profile::Process& process = made_.recording.processes[0];
    process.end = 10 * kSecond;
    process.allocator = "/lib/x86_64-linux-gnu/libc.so.6";
    made_.recording.threads.resize(2);
    grow_ =
        made_.stack({made_.location({"std::vector<int>::_M_realloc_insert<int>", "fill"}), main_});
    make_ = made_.stack({made_.location({"make"}), main_});
    other_ = made_.stack({made_.location({"other"}), main_});
    add(other_, kMiB, kSecond, 0);
  }

  Sample& add(std::uint32_t stack, Bytes bytes, Nanoseconds time, Nanoseconds free_time) {
    Sample& sample = made_.sample(stack, bytes, time, free_time);
    sample.thread = 0;
    sample.free_thread = free_time == 0 ? profile::kNone : 0;
    sample.is_certain = bytes >= kInterval;
    return sample;
  }
  /// A vector that doubles up to `last` and is kept.
  void grow(Bytes last, std::uint32_t free_stack) {
    Nanoseconds time = kSecond + count_++ * kSecond / 100;
    for (Bytes bytes = kInterval; bytes < last; bytes *= 2) {
      add(grow_, bytes, time, time + 2000).free_stack = free_stack;
      time += 1000;
    }
    add(grow_, last, time, 0);
  }
  Findings find() { return find_advice(made_.recording, {}); }

  profile::TestRecording made_{kInterval};
  std::uint32_t main_ = made_.location({"main"});
  std::uint32_t grow_ = 0, make_ = 0, other_ = 0;
  Nanoseconds count_ = 0;
};

TEST_F(AdviceOfARun, GrowthIsWhatTheNextGrowthFreed) {
  for (int i = 0; i < 20; ++i) grow(kMiB, grow_);
  const Findings found = find();
  ASSERT_EQ(found.items.size(), 1U);
  const Item& item = found.items[0];
  EXPECT_EQ(item.advice, Advice::kReserve);
  EXPECT_EQ(item.name, "fill");
  EXPECT_EQ(item.container, "vector");
  // 64, 128, 256 and 512 KiB of each; all were recorded.
  EXPECT_EQ(item.saved.bytes.value, 20 * 960.0 * kKiB);
  EXPECT_EQ(item.saved.bytes.interval.lo, item.saved.bytes.value);
  EXPECT_EQ(item.saved.objects.value, 80);
}

TEST_F(AdviceOfARun, GrowthIsFoundByTheTimesOfFrees) {
  for (int i = 0; i < 20; ++i) grow(kMiB, profile::kNone);
  const Findings found = find();
  ASSERT_EQ(found.items.size(), 1U);
  EXPECT_EQ(found.items[0].saved.bytes.value, 20 * 960.0 * kKiB);
}

TEST_F(AdviceOfARun, LastBlocksAreNoGrowth) {
  for (Nanoseconds i = 1; i <= 20; ++i) {
    add(grow_, kMiB, kSecond + i * kSecond / 10, kSecond + i * kSecond / 10 + 2000);
  }
  const Findings found = find();
  for (const Item& item : found.items) EXPECT_NE(item.advice, Advice::kReserve);
}

TEST_F(AdviceOfARun, UnknownFreesOfSmallBlocksOnlyRaiseTheUpperLimit) {
  for (int i = 0; i < 20; ++i) grow(kMiB, profile::kNone);
  for (Nanoseconds i = 0; i < 100; ++i) add(grow_, kKiB, 5 * kSecond + i * 10'000'000, 9 * kSecond);
  const Findings found = find();
  ASSERT_EQ(found.items.size(), 1U);
  EXPECT_EQ(found.items[0].saved.bytes.value, 20 * 960.0 * kKiB);
  EXPECT_GT(found.items[0].saved.bytes.interval.hi, found.items[0].saved.bytes.value + 5.0 * kMiB);
  ASSERT_FALSE(found.not_looked_for.empty());
  EXPECT_EQ(found.not_looked_for[0].reason, "record with --free-stacks");
}

TEST_F(AdviceOfARun, ShortLivedBlocksAreReused) {
  for (Nanoseconds i = 0; i < 200; ++i) {
    add(make_, kInterval, kSecond + i * 10'000'000, kSecond + i * 10'000'000 + 5000);
  }
  const Findings found = find();
  ASSERT_EQ(found.items.size(), 1U);
  EXPECT_EQ(found.items[0].advice, Advice::kReuse);
  EXPECT_EQ(found.items[0].saved.objects.value, 200);
}

// Two ways lead to it. The one with most bytes names the callers, and what both have further out is
// the owner.
TEST_F(AdviceOfARun, TheOwnerIsNamedWhereTheCallersAreNotIt) {
  const auto by = [&](const std::vector<std::string>& callers) {
    std::vector<std::uint32_t> path{made_.location({"make"})};
    for (const std::string& each : callers) path.push_back(made_.location({each}));
    path.push_back(main_);
    return made_.stack(path);
  };
  const auto make = [&](std::uint32_t stack, Nanoseconds count) {
    for (Nanoseconds i = 0; i < count; ++i) {
      add(stack, kInterval, kSecond + i * 10'000'000, kSecond + i * 10'000'000 + 5000);
    }
  };
  made_.recording.processes[0].executable = "/usr/bin/target";
  make(by({"one_a", "one_b", "one_c", "load_all"}), 90);
  make(by({"two_a", "two_b", "two_c", "load_all"}), 110);
  Findings found = find();
  ASSERT_EQ(found.items.size(), 1U);
  EXPECT_EQ(found.items[0].callers, "two_a < two_b < two_c");
  EXPECT_EQ(found.items[0].owner, "load_all");
  EXPECT_EQ(found.items[0].owned_stacks, 2U);
  EXPECT_EQ(found.items[0].stacks, 2U);
  make(by({"load_all"}), 300);
  found = find();
  ASSERT_EQ(found.items.size(), 1U);
  EXPECT_EQ(found.items[0].owner, "") << "it is among the callers";
}

TEST_F(AdviceOfARun, WhatOthersFreeIsNotReused) {
  for (Nanoseconds i = 0; i < 200; ++i) {
    Sample& sample =
        add(make_, kInterval, kSecond + i * 10'000'000, kSecond + i * 10'000'000 + 5000);
    if (i % 2 == 0) sample.free_thread = 1;
  }
  EXPECT_TRUE(find().items.empty());
}

TEST_F(AdviceOfARun, OneLargeBlockIsNotReused) {
  add(make_, 100 * kMiB, kSecond, kSecond + 5000);
  const Findings found = find();
  for (const Item& item : found.items) EXPECT_NE(item.advice, Advice::kReuse);
}

TEST_F(AdviceOfARun, WhatPassesAtThePeakIsCountedAgainstTheSecondPeak) {
  for (int i = 0; i < 30; ++i) add(other_, kMiB, kSecond + 100 * i, 0);
  for (int i = 0; i < 40; ++i)
    add(make_, kMiB, 5 * kSecond + 100 * i, 5 * kSecond + 10'000'000 + i);
  for (int i = 0; i < 20; ++i) add(other_, kMiB, 6 * kSecond + 100 * i, 0);
  const Findings found = find();
  ASSERT_EQ(found.items.size(), 1U);
  EXPECT_EQ(found.items[0].advice, Advice::kPeak);
  EXPECT_GT(found.items[0].saved.bytes.samples, 0U) << "else it reads as an upper limit";
  // 71 MiB at the peak, then 51.
  EXPECT_EQ(found.items[0].saved.bytes.value, 20.0 * kMiB);
}

TEST_F(AdviceOfARun, ObjectsThatDieTogetherGoIntoAnArena) {
  for (int i = 0; i < 2000; ++i) {
    Sample& sample = add(make_, 17, 2 * kSecond + 100 * i, 8 * kSecond + i);
    sample.usable = 24;
  }
  const Findings found = find();
  ASSERT_EQ(found.items.size(), 1U);
  EXPECT_EQ(found.items[0].advice, Advice::kPool);
  // Of 32 bytes with the header an arena needs 24.
  EXPECT_NEAR(found.items[0].saved.bytes.value, 2000.0 * kInterval * 8 / 17,
              0.01 * 2000 * kInterval);
}

TEST_F(AdviceOfARun, ObjectsThatDieOneByOneAreOnlyRounded) {
  for (int i = 0; i < 2000; ++i) {
    Sample& sample = add(make_, 73, 2 * kSecond + 100 * i, 4 * kSecond + i * 2'000'000);
    sample.usable = 88;
  }
  const Findings found = find();
  ASSERT_EQ(found.items.size(), 1U);
  EXPECT_EQ(found.items[0].advice, Advice::kRounding);
  EXPECT_EQ(found.items[0].requested, 73U);
  EXPECT_EQ(found.items[0].usable, 88U);
}

TEST_F(AdviceOfARun, WhatIsLostIsToBeFreed) {
  for (int i = 0; i < 2000; ++i) {
    Sample& sample = add(make_, 73, 2 * kSecond + 100 * i, 4 * kSecond + i * 2'000'000);
    sample.usable = 88;
    sample.holder = i % 10 == 0 ? 0 : 1;
  }
  made_.recording.holders = {{.name = "g_cache"}, {.name = "lost"}};
  const auto lost = [&](profile::Hold hold) {
    made_.recording.holders[1].hold = hold;
    const Findings found = find();
    return found.items.size() == 1 ? name_of(found.items[0].lost) : "other places";
  };
  EXPECT_EQ(lost(profile::Hold::kReached), "");
  EXPECT_EQ(lost(profile::Hold::kMoving), "") << "undecided";
  EXPECT_EQ(lost(profile::Hold::kUnreachable), "unreachable");
  EXPECT_EQ(lost(profile::Hold::kListed), "listed");
}

TEST_F(AdviceOfARun, TheLevelAllowsForAllPlaces) {
  const Findings few = find();
  for (int i = 0; i < 100; ++i) {
    const auto stack = made_.stack({made_.location({"f" + std::to_string(i)}), main_});
    add(stack, 100, kSecond, kSecond + 100);
  }
  const Findings many = find();
  EXPECT_GT(many.looked_at, few.looked_at + 100);
  EXPECT_GT(many.level, few.level);
  EXPECT_TRUE(many.items.empty());
}

TEST_F(AdviceOfARun, AnAggregatedRecordingCannotTell) {
  made_.recording.processes[0].is_aggregated = true;
  const Findings found = find();
  EXPECT_TRUE(found.items.empty());
  EXPECT_EQ(found.not_looked_for.size(), kAdviceRules.size());
}

}  // namespace
}  // namespace geiger::advice
