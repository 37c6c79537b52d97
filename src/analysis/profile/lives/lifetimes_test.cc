#include "analysis/profile/lives/lifetimes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "analysis/profile/recording/cut.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile::lifetimes_test {
namespace {

using estimation::SurvivalCurve;

/// A process watched from 1,000 to 11,000 ns.
class Lifetimes : public ::testing::Test {
 protected:
  Lifetimes() {
    test_.recording.processes[0].end = 11'000;
    make_ = test_.stack({test_.location({"make"}), test_.location({"main"})});
    read_ = test_.stack({test_.location({"read"}), test_.location({"main"})});
    test_.recording.threads = {{.process = 0, .tid = 7, .name = "first"},
                               {.process = 0, .tid = 8, .name = ""}};
  }

  Sample& sample(std::uint32_t stack, Bytes size, Nanoseconds at, Nanoseconds freed = 0) {
    Sample& sample = test_.sample(stack, size, at, freed);
    sample.thread = 0;
    return sample;
  }

  [[nodiscard]] std::vector<LifetimeGroup> groups(LifetimeGrouping by,
                                                  const LifetimeSelection& only = {}) const {
    return lifetime_groups(test_.recording, by, only);
  }

  [[nodiscard]] SurvivalCurve curve(CurveOver over) const {
    return survival_of(test_.recording, groups(LifetimeGrouping::kWhole).front().samples, over,
                       0.95);
  }

  TestRecording test_;
  std::uint32_t make_ = 0, read_ = 0;
};

TEST_F(Lifetimes, WatchesUntilTheFreeOrTheEndOfTheProcess) {
  EXPECT_EQ(watched_for(test_.recording, sample(make_, 10, 2000, 2500)), 500U);
  EXPECT_EQ(watched_for(test_.recording, sample(make_, 10, 2000)), 9000U);
  EXPECT_EQ(watched_for(test_.recording, sample(make_, 10, 2000, 2000)), 0U);
  EXPECT_EQ(watched_for(test_.recording, sample(make_, 10, 12'000)), 0U) << "after its end";
}

// Two certain objects: 3,000 B for 100 ns, 1,000 B until the end.
TEST_F(Lifetimes, WeighsBytesOrObjects) {
  sample(make_, 3000, 2000, 2100).is_certain = true;
  sample(make_, 1000, 2000).is_certain = true;
  EXPECT_DOUBLE_EQ(curve(CurveOver::kBytes).at(100).alive, 0.25);
  EXPECT_DOUBLE_EQ(curve(CurveOver::kObjects).at(100).alive, 0.5);
  EXPECT_DOUBLE_EQ(curve(CurveOver::kBytes).at(99).alive, 1);
  EXPECT_DOUBLE_EQ(curve(CurveOver::kBytes).at(9000).alive, 0.25) << "censored, not freed";
  EXPECT_EQ(curve(CurveOver::kBytes).longest(), 9000);
  // What was certain has no error, but smaller objects may have been missed.
  EXPECT_EQ(curve(CurveOver::kBytes).at(99).band.hi, 1);
  EXPECT_NEAR(curve(CurveOver::kBytes).at(99).band.lo, std::exp(-std::log(40) * 1024 / 4000),
              0.001);
}

TEST_F(Lifetimes, WeighsSamplesByTheirProbability) {
  sample(make_, 100, 2000, 2100);
  sample(make_, 1000, 2000, 3000);
  const double lambda = -std::log1p(-1.0 / 1024);
  const double small = 1 / -std::expm1(-lambda * 100);
  const double large = 1 / -std::expm1(-lambda * 1000);
  EXPECT_NEAR(curve(CurveOver::kObjects).at(100).alive, large / (small + large), 1e-12);
  EXPECT_NEAR(curve(CurveOver::kBytes).at(100).alive, 1000 * large / (100 * small + 1000 * large),
              1e-12);
}

TEST_F(Lifetimes, IsExactAtAnIntervalOfOne) {
  TestRecording exact(1);
  exact.recording.processes[0].end = 11'000;
  const auto stack = exact.stack({exact.location({"make"})});
  exact.sample(stack, 10, 2000, 2100);
  exact.sample(stack, 30, 2000);
  const auto all = lifetime_groups(exact.recording, LifetimeGrouping::kWhole);
  const auto curve = survival_of(exact.recording, all.front().samples, CurveOver::kBytes, 0.95);
  EXPECT_EQ(curve.at(100).band.lo, 0.75);
  EXPECT_EQ(curve.at(100).band.hi, 0.75);
}

TEST_F(Lifetimes, GroupsByWhatItIsTold) {
  sample(make_, 100, 2000, 2100);
  sample(make_, 200, 2000);
  Sample& other = sample(read_, 600, 2000, 9000);
  other.thread = 1;
  other.free_stack = make_;
  const auto by_function = groups(LifetimeGrouping::kFunction);
  ASSERT_EQ(by_function.size(), 2U);
  EXPECT_EQ(by_function[0].name, "make") << "two samples stand for more than one";
  EXPECT_EQ(by_function[0].detail, "target");
  EXPECT_EQ(by_function[0].samples.size(), 2U);
  const auto by_stack = groups(LifetimeGrouping::kStack);
  EXPECT_EQ(by_stack[1].name, "read");
  EXPECT_EQ(by_stack[1].detail, "main");
  EXPECT_EQ(by_stack[1].stack, read_);
  const auto by_thread = groups(LifetimeGrouping::kThread);
  EXPECT_EQ(by_thread[0].name, "first");
  EXPECT_EQ(by_thread[1].name, "tid 8");
  const auto by_size = groups(LifetimeGrouping::kSize);
  ASSERT_EQ(by_size.size(), 3U);
  EXPECT_EQ(by_size[0].name, "512-1023 B");
  const auto by_free = groups(LifetimeGrouping::kFreeStack);
  ASSERT_EQ(by_free.size(), 1U);
  EXPECT_EQ(by_free[0].stack, make_);
  EXPECT_EQ(by_free[0].samples, std::vector<std::uint32_t>{2});
}

// Reports show neither of the two containers.
TEST_F(Lifetimes, StacksThatReadAlikeAreOneGroup) {
  const auto main = test_.location({"main"});
  const auto make = test_.location({"make"});
  const auto one = test_.stack({test_.location({"std::vector<int>::resize"}), make, main});
  const auto two = test_.stack({test_.location({"std::vector<int>::push_back"}), make, main});
  sample(one, 100, 2000);
  sample(two, 100, 2100);
  sample(read_, 100, 2200);
  const auto by_stack = groups(LifetimeGrouping::kStack);
  ASSERT_EQ(by_stack.size(), 2U);
  EXPECT_EQ(by_stack[0].samples, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(by_stack[0].stack, one);
}

TEST_F(Lifetimes, SelectsByTimeAndByWhatWasSeen) {
  sample(make_, 100, 2000, 2100);
  sample(make_, 100, 3000);
  sample(make_, 100, 4000, 9000);
  LifetimeSelection only;
  only.allocated_in = {3000, 4000};
  EXPECT_EQ(groups(LifetimeGrouping::kWhole, only)[0].samples, std::vector<std::uint32_t>{1});
  only = {};
  only.observed_only = true;
  EXPECT_EQ(groups(LifetimeGrouping::kWhole, only)[0].samples, (std::vector<std::uint32_t>{0, 2}));
  only.allocated_in = {10'000, 11'000};
  EXPECT_TRUE(groups(LifetimeGrouping::kWhole, only).empty());
}

TEST_F(Lifetimes, TellsWhoFreesWhereThatIsKnown) {
  const auto freed = [&](std::uint32_t thread, std::uint16_t cpu) -> Sample& {
    Sample& sample = this->sample(make_, 1024, 2000, 3000);
    sample.is_certain = true;
    sample.free_thread = thread;
    sample.cpu = 0;
    sample.free_cpu = cpu;
    return sample;
  };
  freed(0, 0);
  freed(1, 0);
  freed(1, 3);
  freed(kNone, 0xfff);
  freed(1, 3).free_unseen = true;  // The thread that noticed it did not free it.
  sample(make_, 1024, 2000).is_certain = true;
  const auto all = groups(LifetimeGrouping::kWhole).front();
  const LifetimeSums sums = lifetime_sums(test_.recording, all.samples);
  EXPECT_EQ(sums.allocated.certain_samples, 6U);
  EXPECT_EQ(sums.freed.certain_samples, 5U);
  EXPECT_EQ(sums.alive.certain_samples, 1U);
  EXPECT_EQ(sums.freed_by_known_thread.certain_samples, 3U);
  EXPECT_EQ(sums.freed_by_other_thread.certain_samples, 2U);
  EXPECT_EQ(sums.freed_on_known_cpu.certain_samples, 3U);
  EXPECT_EQ(sums.freed_on_other_cpu.certain_samples, 1U);
}

TEST_F(Lifetimes, AreThoseOfARecordingThatEndedEarlier) {
  sample(make_, 100, 2000, 2100);
  sample(make_, 100, 3000, 6000).free_thread = 0;
  sample(make_, 100, 5000);
  cut_at(test_.recording, 5000);
  ASSERT_EQ(test_.recording.samples.size(), 2U);
  EXPECT_EQ(test_.recording.samples[0].free_time, 2100U);
  EXPECT_EQ(test_.recording.samples[1].free_time, 0U);
  EXPECT_EQ(test_.recording.samples[1].free_thread, kNone);
  EXPECT_EQ(watched_for(test_.recording, test_.recording.samples[1]), 2000U);
  cut_at(test_.recording, 10);
  EXPECT_TRUE(test_.recording.samples.empty());
  EXPECT_EQ(test_.recording.processes[0].end, 1000U);
}

TEST(LifetimeClass, GoesByDecades) {
  const auto name = [](Nanoseconds lived) {
    Sample sample;
    sample.time = 5;
    sample.free_time = 5 + lived;
    return name_of_lifetime(lifetime_class_of(sample));
  };
  EXPECT_EQ(name(0), "< 1 us");
  EXPECT_EQ(name(999), "< 1 us");
  EXPECT_EQ(name(1'000), "1-10 us");
  EXPECT_EQ(name(10'000), "10-100 us");
  EXPECT_EQ(name(999'999), "100 us-1 ms");
  EXPECT_EQ(name(1'000'000), "1-10 ms");
  EXPECT_EQ(name(999'999'999'999), "100-1000 s");
  EXPECT_EQ(name(1'000'000'000'000), ">= 1000 s");
  EXPECT_EQ(name(~Nanoseconds{0} - 5), ">= 1000 s");
  EXPECT_EQ(name_of_lifetime(lifetime_class_of({})), "alive at end");
}

}  // namespace
}  // namespace geiger::profile::lifetimes_test
