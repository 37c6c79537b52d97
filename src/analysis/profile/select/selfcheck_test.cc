// Recordings drawn by a right sampler pass; those made wrong on purpose do not.
// Seeds are fixed; a right recording fails a check with probability 1e-6 each.
#include "analysis/profile/select/selfcheck.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analysis/profile/testing/drawn_recording.h"

namespace geiger::profile::selfcheck_test {
namespace {

TEST(Selfcheck, PassesRightRecordings) {
  for (const Bytes interval : {64U, 4096U, 524288U}) {
    const Recording recording = DrawnRecording(interval).threads(3, 400).recording;
    ASSERT_GT(recording.samples.size(), 900U);
    EXPECT_FALSE(check_offsets(recording).has_failed()) << interval;
    EXPECT_TRUE(shared_draws(recording).empty()) << interval;
    const Accounting accounting = account(recording, 0);
    EXPECT_EQ(accounting.missing() + accounting.surplus(), 0U);
    const Agreement agreement = compare_with_exact(recording, 0, process_totals(recording, 0));
    EXPECT_FALSE(agreement.has_failed()) << interval;
    EXPECT_LT(std::abs(process_totals(recording, 0).z), 4) << interval;
  }
}

TEST(Selfcheck, SaysTheSameAtEveryReading) {
  const Recording recording = DrawnRecording(4096).threads(1, 300).recording;
  EXPECT_EQ(check_offsets(recording).p_value(), check_offsets(recording).p_value());
  EXPECT_EQ(check_offsets(recording, 0).anderson_darling.statistic,
            check_offsets(recording).anderson_darling.statistic);
}

TEST(Selfcheck, SeesOffsetsBehindTheirAllocation) {
  Recording recording = DrawnRecording(4096).threads(1, 100).recording;
  recording.samples[7].offset = recording.samples[7].requested;
  EXPECT_EQ(check_offsets(recording).impossible, 1U);
  EXPECT_TRUE(check_offsets(recording).has_failed());
}

// Offsets of certain objects mean nothing, nor do any at T = 1.
TEST(Selfcheck, LooksAtTriedSamplesOnly) {
  Recording recording = DrawnRecording(4096).threads(1, 100).recording;
  const std::uint64_t before = check_offsets(recording).samples;
  recording.samples[7].is_certain = true;
  recording.samples[7].offset = 1 << 30;
  EXPECT_EQ(check_offsets(recording).samples, before - 1);
  recording.epochs[0] = {1, estimation::rate_of_interval(1)};
  EXPECT_EQ(check_offsets(recording).samples, 0U);
}

TEST(Selfcheck, SeesHitsThatDoNotFitTheTrials) {
  Recording recording = DrawnRecording(4096).threads(2, 500).recording;
  EXPECT_FALSE(check_hits(recording).has_failed());
  EXPECT_FALSE(check_hits(recording, 0).has_failed());
  recording.threads[0].hits -= 200;
  EXPECT_TRUE(check_hits(recording).has_failed());
  EXPECT_TRUE(check_hits(recording, 0).has_failed());
}

// A program that hardly allocates and yet has a sample: z = 7, once in 25 runs.
TEST(Selfcheck, KnowsThatFewHitsAreNotNormal) {
  DrawnRecording drawn(4096);
  drawn.sample_at(drawn.process(), 160, 81);
  EXPECT_GT(check_hits(drawn.recording).z, 6);
  EXPECT_NEAR(check_hits(drawn.recording).p_value, 2 * -std::expm1(-82.0 / 4096), 1e-9);
  EXPECT_FALSE(check_hits(drawn.recording).has_failed());
}

TEST(Selfcheck, DoesNotTestHitsOfSeveralIntervalsThatLackSamples) {
  Recording recording = DrawnRecording(4096).threads(1, 500).recording;
  recording.threads[0].hits += 400;
  recording.epochs.push_back({8192, estimation::rate_of_interval(8192)});
  recording.samples[0].epoch = 1;
  EXPECT_FALSE(check_hits(recording).has_failed());
  EXPECT_FALSE(check_hits(recording, 0).has_failed());
  EXPECT_FALSE(check_hits(recording, 0).is_testable);
  EXPECT_EQ(check_hits(Recording{}).p_value, 1);
}

TEST(Selfcheck, CountsSamplesThatAreMissing) {
  Recording recording = DrawnRecording(4096).threads(2, 300).recording;
  recording.samples.resize(recording.samples.size() - 50);
  EXPECT_EQ(account(recording, 0).missing(), 50U);
  recording.processes[0].drops[0] = 20;
  recording.threads[0].armed = 4096;
  EXPECT_EQ(account(recording, 0).missing(), 29U);
  recording.threads[0].hits -= 100;
  EXPECT_EQ(account(recording, 0).missing(), 0U);
  EXPECT_EQ(account(recording, 0).surplus(), 50U);
}

// A thread may have counted its last sample in a segment that is gone, or written its first one of
// which the count is gone.
TEST(Selfcheck, AllowsASampleOfEachThreadWhereSegmentsAreMissing) {
  Recording recording = DrawnRecording(4096).threads(2, 300).recording;
  recording.threads[0].hits -= 3;
  EXPECT_EQ(account(recording, 0).surplus(), 3U);
  recording.processes[0].segments = {{.number = 2}};
  EXPECT_EQ(account(recording, 0).surplus(), 1U);
}

TEST(Selfcheck, SeesEstimatesThatDisagreeWithTheTotal) {
  Recording recording = DrawnRecording(4096).threads(1, 1000).recording;
  const auto agreement = [&] {
    return compare_with_exact(recording, 0, process_totals(recording, 0));
  };
  for (int i = 0; i < 300; ++i) recording.samples.pop_back();
  EXPECT_TRUE(agreement().has_failed());
  recording.threads[0].bytes /= 2;
  EXPECT_TRUE(agreement().has_failed());
  // The rest that is not settled may explain it.
  recording.threads[0].armed = recording.threads[0].bytes;
  EXPECT_FALSE(agreement().has_failed());
}

// At an interval of 1 the estimate is exact: a sample stands for its size, and nothing else is
// allowed for.
TEST(Selfcheck, AllowsForOneSampleOfAThreadInTheTotalWhereSegmentsAreMissing) {
  const Recording whole = DrawnRecording(1).threads(1, 300).recording;
  const auto fails_by = [](Recording recording, Bytes bytes) {
    recording.threads[0].bytes += bytes;
    return compare_with_exact(recording, 0, process_totals(recording, 0)).has_failed();
  };
  const auto largest = std::ranges::max_element(whole.samples, {}, &Sample::requested)->requested;
  EXPECT_FALSE(fails_by(whole, 0));
  EXPECT_TRUE(fails_by(whole, 1));
  Recording suffix = whole;
  suffix.processes[0].segments = {{.number = 2}};
  EXPECT_FALSE(fails_by(suffix, largest));
  EXPECT_TRUE(fails_by(suffix, largest + 1));
}

// The fault of profilers whose threads, or hosts, all start from one seed.
TEST(SharedDraws, FindsThreadsThatDrewTheSameNumbers) {
  DrawnRecording drawn(4096);
  drawn.threads(3, 200);
  drawn.copy_thread(1, drawn.process());
  drawn.threads(2, 200);
  const auto groups = shared_draws(drawn.recording);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].threads, 2U);
  EXPECT_EQ(groups[0].processes, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_GE(groups[0].samples, 4U);
  EXPECT_LT(groups[0].log10_p, -6);
}

// A worker that allocates less than T bytes leaves about one sample. Two workers with equal samples
// prove nothing, a hundred do.
TEST(SharedDraws, FindsManyWorkersOfOneSampleEach) {
  DrawnRecording two(4096), hundred(4096);
  two.sample_at(two.process(), 16, 5);
  two.sample_at(two.process(), 16, 5);
  EXPECT_TRUE(shared_draws(two.recording).empty());
  for (int i = 0; i < 100; ++i) hundred.sample_at(hundred.process(), 16, 5);
  const auto groups = shared_draws(hundred.recording);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].threads, 100U);
  EXPECT_EQ(groups[0].processes.size(), 100U);
}

// Objects of one byte have one offset only: being alike is no evidence.
TEST(SharedDraws, IsNotMisledBySizesThatLeaveNoChoice) {
  DrawnRecording drawn(4096);
  for (int i = 0; i < 100; ++i) {
    const auto process = drawn.process();
    for (int sample = 0; sample < 40; ++sample) drawn.sample_at(process, 1, 0);
  }
  EXPECT_TRUE(shared_draws(drawn.recording).empty());
}

// Independent workers of a program that allocates one size only: 300 recordings of
// 200 workers, no false alarm (expected 3e-4).
TEST(SharedDraws, LeavesIndependentThreadsAlone) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    DrawnRecording drawn(65536, seed);
    std::mt19937_64 generator(seed);
    for (int i = 0; i < 200; ++i) {
      const auto process = drawn.process();
      for (int k = 0; k < 3; ++k) drawn.sample_at(process, 16, generator() % 16);
    }
    ASSERT_TRUE(shared_draws(drawn.recording).empty()) << seed;
  }
}

}  // namespace
}  // namespace geiger::profile::selfcheck_test
