// The law of the sampler. Seeds are fixed, so nothing here is flaky; with a fresh seed, a correct
// sampler would exceed the limits with probability below 1e-6 per comparison (|z| < 5: 5.7e-7; p >
// 1e-6; Anderson-Darling < 12.5).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sampling/samplers.h"
#include "sampling/test_geometric_law.h"

namespace geiger::sampling::counter_sampler_stat_test {
namespace {

using Kind = Verdict::Kind;
constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

CounterSampler started(std::uint64_t seed, std::uint64_t interval) {
  CounterSampler sampler;
  sampler.start(seed, interval, rate_of(interval), true);
  return sampler;
}

struct SizeAndInterval {
  std::uint64_t size, interval;
};

// Objects of one size, all of them and those right after a sample. If skip == size counts as a hit,
// z is +334 and +409, +45 and +124, +6.0 and +13.9 in the three cases.
TEST(CounterSamplerLaw, HitRateIsRightAlsoForTheFirstObjectAfterAHit) {
  for (const auto [size, interval] : {SizeAndInterval{1, 2}, {1, 8}, {16, 64}}) {
    CounterSampler sampler = started(101, interval);
    double hits = 0, after = 0, hits_after = 0;
    bool was_hit = false;
    constexpr int kTrials = 2000000;
    for (int i = 0; i < kTrials; ++i) {
      const bool is_hit = sampler.trial(size).kind == Kind::kSampled;
      hits += is_hit;
      after += was_hit;
      hits_after += was_hit && is_hit;
      was_hit = is_hit;
    }
    const double pi = 1 - survival(size, interval);
    EXPECT_LT(std::abs(z_score(hits, kTrials, pi)), 5) << interval;
    EXPECT_LT(std::abs(z_score(hits_after, after, pi)), 5) << interval;
  }
}

// Skips in 200 bins of equal probability (as far as integers allow). Catches the
// exponential rounded up or shifted down by one, -1/T instead of log1p(-1/T) as
// the rate, T off by one percent.
TEST(CounterSamplerLaw, SkipsAreGeometric) {
  for (const std::uint64_t interval : {std::uint64_t{8}, std::uint64_t{16}, std::uint64_t{1024}}) {
    const SkipBins bins(1.0 / static_cast<double>(interval), 200);
    std::vector<double> counts(bins.starts.size());
    CounterSampler sampler = started(202, interval);
    for (int i = 0; i < 1000000; ++i) {
      const std::uint64_t skip = sampler.trial(kHuge).offset;
      ++counts[bins.bin_of(skip)];
    }
    EXPECT_GT(chi_square_p(counts, bins.probabilities), 1e-6) << interval;
  }
}

// At realistic intervals an error of one byte shows only in the smallest skips: z = +14 if they are
// shifted down by one, -13 if rounded up.
TEST(CounterSamplerLaw, SmallestSkipsHaveTheirProbabilityAtRealIntervals) {
  constexpr std::uint64_t kInterval = 102400;
  constexpr int kDraws = 1 << 24;
  CounterSampler sampler = started(303, kInterval);
  double zeros = 0, below_16 = 0;
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t skip = sampler.trial(kHuge).offset;
    zeros += skip == 0;
    below_16 += skip < 16;
  }
  EXPECT_LT(std::abs(z_score(zeros, kDraws, 1.0 / kInterval)), 5);
  EXPECT_LT(std::abs(z_score(below_16, kDraws, 1 - survival(16, kInterval))), 5);
}

// 1 - q^K (1 - V p) is uniform for an independent uniform V, so the test checks every part of the
// law, especially the tails.
TEST(CounterSamplerLaw, SkipsPassAndersonDarling) {
  for (const std::uint64_t interval : {2, 16, 64, 102400}) {
    CounterSampler sampler = started(404, interval);
    Xoshiro256pp jitter(405);
    constexpr int kDraws = 200000;
    std::vector<double> u(kDraws);
    for (double& value : u) {
      const double v = static_cast<double>(jitter.next() >> 11) * 0x1p-53;
      const std::uint64_t skip = sampler.trial(kHuge).offset;
      value = 1 - survival(skip, interval) * (1 - v / static_cast<double>(interval));
    }
    std::sort(u.begin(), u.end());
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double low = std::max(u[i], 1e-300);
      const double high = std::max(1 - u[kDraws - 1 - i], 0x1p-60);
      sum += (2 * i + 1) * (std::log(low) + std::log(high));
    }
    EXPECT_LT(-kDraws - sum / kDraws, 12.5) << interval;
  }
}

// Given a hit, the offset follows the geometric law truncated at the size. This test is the most
// sensitive to errors at the boundary; it also catches a wrong u.
TEST(CounterSamplerLaw, OffsetsAreTruncatedGeometric) {
  for (const auto [size, interval] : {SizeAndInterval{4, 8}, {16, 64}, {100, 64}, {16, 1024}}) {
    std::vector<double> counts(size);
    CounterSampler sampler = started(505, interval);
    for (int i = 0; i < 3000000; ++i) {
      const Verdict verdict = sampler.trial(size);
      if (verdict.kind == Kind::kSampled) ++counts[verdict.offset];
    }
    EXPECT_GT(chi_square_p(counts, offset_probabilities(size, interval)), 1e-6)
        << size << " of " << interval;
  }
}

// Small objects between certain ones keep their own rate.
TEST(CounterSamplerLaw, CertainObjectsDoNotDisturbTheOthers) {
  CounterSampler sampler;
  sampler.start(606, 64, rate_of(64), false);
  double hits = 0;
  constexpr int kTrials = 1000000;
  for (int i = 0; i < kTrials; ++i) {
    sampler.trial(64 + i % 200);
    hits += sampler.trial(16).kind == Kind::kSampled;
  }
  EXPECT_LT(std::abs(z_score(hits, kTrials, 1 - survival(16, 64))), 5);
}

// Objects of 0 bytes in a row: the gaps between samples, and whether a neighbouring seed makes the
// same ones samples. Catches a trial that several of them share, and numbers that depend on each
// other.
TEST(CounterSamplerLaw, ObjectsWithoutBytesAreIndependentTrials) {
  constexpr int kObjects = 20'000;
  for (const std::uint64_t interval : {std::uint64_t{7}, std::uint64_t{64}, std::uint64_t{1024}}) {
    const double p = 1.0 / static_cast<double>(interval);
    const SkipBins bins(p, 50);
    std::vector<double> counts(bins.starts.size());
    std::vector<bool> before(kObjects), now(kObjects);
    double shared = 0;
    std::uint64_t gap = 0;
    constexpr int kSeeds = 300;
    for (int seed = 0; seed < kSeeds; ++seed) {
      CounterSampler sampler = started(808 + seed, interval);
      for (int i = 0; i < kObjects; ++i, ++gap) {
        now[i] = sampler.decide(0).kind == Kind::kSampled;
        shared += seed != 0 && now[i] && before[i];
        if (!now[i]) continue;
        ++counts[bins.bin_of(gap)];
        gap = std::uint64_t(-1);
      }
      before.swap(now);
    }
    EXPECT_GT(chi_square_p(counts, bins.probabilities), 1e-6) << interval;
    EXPECT_LT(std::abs(z_score(shared, (kSeeds - 1.0) * kObjects, p * p)), 5) << interval;
  }
}

// The interval changes every 100 objects, at moments that depend on the past but
// not on the pending skip. Catches a skip kept under a new rate.
TEST(CounterSamplerLaw, ChangesOfTheIntervalKeepBothRates) {
  CounterSampler sampler = started(707, 16);
  double hits[2] = {0, 0};
  constexpr int kRounds = 10000;
  for (int i = 0; i < 2 * kRounds; ++i) {
    const std::uint64_t interval = i % 2 == 0 ? 16 : 256;
    sampler.change_interval(interval, rate_of(interval));
    for (int j = 0; j < 100; ++j) hits[i % 2] += sampler.trial(8).kind == Kind::kSampled;
  }
  EXPECT_LT(std::abs(z_score(hits[0], 100 * kRounds, 1 - survival(8, 16))), 5);
  EXPECT_LT(std::abs(z_score(hits[1], 100 * kRounds, 1 - survival(8, 256))), 5);
}

}  // namespace
}  // namespace geiger::sampling::counter_sampler_stat_test
