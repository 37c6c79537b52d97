// Seeds are fixed; the limits hold for a fresh seed with probability 1 - 1e-6
// per comparison (|z| < 5).
#include "estimation/thinning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "estimation/sums.h"

namespace geiger::estimation::thinning_test {
namespace {

TEST(KeepProbability, GivesTheReferenceValues) {
  const auto vectors =
      nlohmann::json::parse(std::ifstream(GEIGER_SOURCE_DIR "/tests/vectors/statistics.json"));
  for (const auto& row : vectors["thinning"]) {
    const double keep = keep_probability(row["size"].get<Bytes>(), 1 / row["T1"].get<double>(),
                                         1 / row["T2"].get<double>());
    EXPECT_NEAR(keep, row["keep"].get<double>(), 1e-12) << row;
  }
  EXPECT_EQ(keep_probability(0, 1e-3, 1e-4), keep_probability(1, 1e-3, 1e-4));
  EXPECT_EQ(keep_probability(16, 1e-3, 1e-3), 1);
}

// Thinned samples weigh as if drawn at the lower rate: pi_from keep = pi_to.
TEST(KeepProbability, ComposesOverSteps) {
  for (const Bytes size : {Bytes{1}, Bytes{64}, Bytes{5000}, Bytes{1} << 30}) {
    EXPECT_NEAR(keep_probability(size, 1e-3, 1e-4) * keep_probability(size, 1e-4, 1e-6),
                keep_probability(size, 1e-3, 1e-6), 1e-12);
  }
}

double z_score(double hits, double trials, double p) {
  return (hits - trials * p) / std::sqrt(trials * p * (1 - p));
}

constexpr double kShare = 0.25;

// Over many objects of one size: each part has the inclusion probability of its share of the
// rate, and both together that of independent draws.
TEST(Parts, AreIndependentProcessesOfTheirRates) {
  std::mt19937_64 generator(1);
  for (const double share : {0.5, kShare}) {
    for (const auto& [size, interval] : {std::pair{1, 8}, {3, 4}, {16, 64}, {60, 64}, {300, 64}}) {
      const double lambda = rate_of_interval(interval);
      const auto pi = [&, size = size](double part) {
        return inclusion_probability(static_cast<Bytes>(size), lambda * part);
      };
      constexpr int kObjects = 400000;
      double first = 0, second = 0, both = 0;
      for (int i = 0; i < kObjects; ++i) {
        const double u = static_cast<double>((generator() >> 11) + 1) * 0x1p-53;
        const double skip = std::floor(-std::log(u) / lambda);
        const std::uint64_t random = generator();
        if (skip >= size) continue;
        const Parts parts = parts_of(static_cast<Bytes>(size), static_cast<std::uint64_t>(skip),
                                     lambda, share, random);
        ASSERT_TRUE(parts.in_first || parts.in_second);
        first += parts.in_first;
        second += parts.in_second;
        both += parts.in_first && parts.in_second;
      }
      const double a = pi(share), b = pi(1 - share);
      EXPECT_LT(std::abs(z_score(first, kObjects, a)), 5) << size;
      EXPECT_LT(std::abs(z_score(second, kObjects, b)), 5) << size;
      EXPECT_LT(std::abs(z_score(both, kObjects, a * b)), 5) << size;
    }
  }
}

// A flat heap of 20 objects of nearly T, replaced one by one. The first part
// chooses the instant of its largest count, the second estimates the heap there
// without bias. A plain coin per sample gives .68: an excess in one part is missing in the other.
TEST(Parts, OneLocatesAPeakAndTheOtherEstimatesItWithoutBias) {
  std::mt19937_64 generator(2);
  constexpr Bytes kSize = 61;
  constexpr int kObjects = 20, kReplacements = 200, kHeaps = 3000;
  const double lambda = rate_of_interval(64);
  const double pi = inclusion_probability(kSize, lambda * (1 - kShare));
  const auto draw = [&]() -> Parts {
    const double u = static_cast<double>((generator() >> 11) + 1) * 0x1p-53;
    const double skip = std::floor(-std::log(u) / lambda);
    if (skip >= kSize) return {};
    return parts_of(kSize, static_cast<std::uint64_t>(skip), lambda, kShare, generator());
  };
  double sum = 0, squares = 0;
  for (int heap = 0; heap < kHeaps; ++heap) {
    std::vector<Parts> live(kObjects);
    int first = 0, second = 0, largest = -1, at_largest = 0;
    for (int i = 0; i < kObjects + kReplacements; ++i) {
      Parts& slot = live[i < kObjects ? i : generator() % kObjects];
      const Parts fresh = draw();
      first += fresh.in_first - slot.in_first;
      second += fresh.in_second - slot.in_second;
      slot = fresh;
      if (i + 1 < kObjects || first <= largest) continue;
      largest = first;
      at_largest = second;
    }
    const double estimate = at_largest / pi / kObjects;
    sum += estimate;
    squares += estimate * estimate;
  }
  const double mean = sum / kHeaps;
  const double error = std::sqrt((squares / kHeaps - mean * mean) / kHeaps);
  EXPECT_LT(std::abs(mean - 1) / error, 5);
}

TEST(Parts, BothHoldEverythingAtIntervalOne) {
  const Parts parts = parts_of(10, 0, std::numeric_limits<double>::infinity(), kShare, 0);
  EXPECT_TRUE(parts.in_first && parts.in_second);
}

/// All of [0, 1) in even steps: probabilities become shares, to one in a million.
template <typename Visit>
void for_each_random(const Visit& visit) {
  constexpr std::uint64_t kSteps = 1'000'000;
  for (std::uint64_t i = 0; i < kSteps; ++i) visit((~std::uint64_t{0} / kSteps) * i, 1.0 / kSteps);
}

TEST(Thinning, SplitsAnInclusionIntoIndependentParts) {
  for (const double share : {0.5, kShare}) {
    for (const double pi : {1e-3, 0.1, 0.25, 0.5, 0.9, 1.0}) {
      const double a = part_of(pi, share);
      const double b = part_of(pi, 1 - share);
      EXPECT_NEAR(1 - (1 - a) * (1 - b), pi, 1e-12);
      double first = 0, second = 0, both = 0;
      for_each_random([&](std::uint64_t random, double step) {
        const Parts parts = split(pi, share, random);
        first += pi * step * parts.in_first;
        second += pi * step * parts.in_second;
        both += pi * step * (parts.in_first && parts.in_second);
        ASSERT_TRUE(parts.in_first || parts.in_second);
      });
      EXPECT_NEAR(first, a, 2e-6);
      EXPECT_NEAR(second, b, 2e-6);
      EXPECT_NEAR(both, a * b, 2e-6);
    }
  }
}

TEST(Thinning, WhatIsBesideTheFirstPartKnowsNothingOfIt) {
  for (const double drawn : {0.01, 0.5, 0.999}) {
    for (const double keep : {1.0, 0.5, 1.0 / 64}) {
      const double q = part_of(keep * drawn, kShare);
      const double a = beside_first_part(drawn, keep * drawn, kShare);
      // Taken: everything drawn that is not in the first part, and a share a of the others.
      const double taken_outside = drawn - q;
      EXPECT_NEAR(taken_outside + a * q, a, 1e-12) << "its probability is a";
      EXPECT_NEAR(taken_outside / (1 - q), a, 1e-12) << "the same outside as inside";
      EXPECT_LE(a, drawn + 1e-12);
      EXPECT_GE(a, part_of(drawn, 1 - kShare) - 1e-12) << "never less than the plain part";
    }
  }
  EXPECT_EQ(beside_first_part(1, 1, kShare), 1);
}

}  // namespace
}  // namespace geiger::estimation::thinning_test
