#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "analysis/profile/select/selfcheck.h"
#include "analysis/profile/select/totals.h"

namespace geiger::profile::weighted_hits_test {
namespace {

constexpr Bytes kFine = 1024;
constexpr Bytes kCoarse = 16 * 1024;

/// One thread that allocates objects of 64 bytes in stretches of kFine and kCoarse in turn, as a
/// sampler draws them that misses a share of its hits.
Recording drawn(std::uint64_t seed, int stretches, double missed = 0) {
  Recording recording;
  recording.stacks.emplace_back();
  for (const Bytes interval : {kFine, kCoarse}) {
    const double lambda = estimation::rate_of_interval(static_cast<double>(interval));
    recording.epochs.push_back({interval, lambda});
  }
  recording.processes.emplace_back().interval = kFine;
  Thread thread;
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform;
  for (int stretch = 0; stretch < stretches; ++stretch) {
    const auto epoch = static_cast<std::uint32_t>(stretch % 2);
    const double lambda = recording.epochs[epoch].lambda;
    for (int i = 0; i < 500; ++i) {
      const auto offset = static_cast<std::uint64_t>(-std::log(1 - uniform(generator)) / lambda);
      const bool is_hit = offset < 64 && uniform(generator) >= missed;
      thread.trials += is_hit ? offset + 1 : 64;
      thread.hits += is_hit ? 1 : 0;
      if (!is_hit) continue;
      Sample sample;
      sample.requested = 64;
      sample.offset = offset;
      sample.epoch = epoch;
      sample.thread = 0;
      recording.samples.push_back(sample);
    }
  }
  recording.threads.push_back(thread);
  return recording;
}

// Fixed seeds. |mean z| < 5 / sqrt(400) fails for a fresh seed with probability 6e-7; its root
// mean square within 0.2 of 1, 5.6 standard errors of it, with less than 1e-7.
TEST(WeightedHits, AddUpToTheTrialsOfSeveralIntervals) {
  constexpr int kPrograms = 400;
  double sum = 0, squares = 0;
  int improbable = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const HitCheck check = check_hits(drawn(static_cast<std::uint64_t>(i) + 1, 40));
    EXPECT_TRUE(check.is_testable);
    sum += check.z;
    squares += check.z * check.z;
    improbable += check.p_value < 0.05 ? 1 : 0;
  }
  EXPECT_LT(std::abs(sum / kPrograms), 5 / std::sqrt(kPrograms));
  EXPECT_NEAR(std::sqrt(squares / kPrograms), 1, 0.2);
  // Five standard errors of a share of 0.05.
  EXPECT_LT(improbable / double{kPrograms}, 0.05 + 5 * std::sqrt(0.05 * 0.95 / kPrograms));
}

TEST(WeightedHits, ShowASamplerThatMissesSome) {
  EXPECT_TRUE(check_hits(drawn(1, 400, 0.4)).has_failed());
  EXPECT_LT(check_hits(drawn(1, 400, 0.4)).z, -4);
  EXPECT_FALSE(check_hits(drawn(1, 400)).has_failed());
}

// Few hits, most of them of the coarse interval: the false alarms of the normal law are not ours.
TEST(WeightedHits, RaiseNoFalseAlarmFromFewHits) {
  int failed = 0;
  for (int i = 0; i < 2000; ++i) {
    failed += check_hits(drawn(static_cast<std::uint64_t>(i) + 1, 2)).has_failed() ? 1 : 0;
  }
  // Allowed are 0.13 on average: more than 4 have a probability of 3e-7.
  EXPECT_LE(failed, 4);
}

TEST(WeightedHits, ExpectAsManyHitsAsTheTrialsSay) {
  Recording recording = drawn(1, 40);
  const WeightedHits before = weighted_hits(recording, 0);
  EXPECT_NEAR(before.expected(), static_cast<double>(before.hits), 4 * std::sqrt(before.hits));
  recording.threads[0].trials *= 2;
  EXPECT_NEAR(weighted_hits(recording, 0).expected(), 2 * before.expected(), 1e-6);
  EXPECT_EQ(weighted_hits(Recording{}, 0).expected(), 0);
}

}  // namespace
}  // namespace geiger::profile::weighted_hits_test
