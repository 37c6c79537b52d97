// Sampler and estimators together, over typical mixtures of sizes in allocation profiles: no bias,
// and intervals that cover. Seeds are fixed. A correct build with fresh seeds would fail with
// probability 4e-3 in all: 49 mean errors beyond 4 standard errors (6e-5 each), and 25 coverages of
// at least .953 that come out below .94 in 4000 runs (4 standard errors).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "estimation/estimate.h"
#include "estimation/sums.h"
#include "sampling/samplers.h"

namespace geiger::estimation::size_mixes_test {
namespace {

constexpr Bytes kInterval = 4096;
constexpr int kRuns = 4000;

struct Mix {
  std::string name;
  std::function<double(std::mt19937_64&)> draw;
};

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// Inverse transforms and Box-Muller: distributions differ between standard libraries.
double normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(random)));
  return radius * std::cos(6.283185307179586 * uniform(random));
}

std::vector<Mix> mixes() {
  const auto t = static_cast<double>(kInterval);
  return {
      {"16 bytes", [](auto&) { return 16.0; }},
      {"lognormal", [](auto& random) { return std::exp(4 + 1.2 * normal(random)); }},
      {"power law", [=](auto& random) { return std::min(16 / (1 - uniform(random)), 8 * t); }},
      {"T/4 to 8T", [=](auto& random) { return t * (0.25 + 7.75 * uniform(random)); }},
      {"half of the bytes 64, half 2T",
       [=](auto& random) { return uniform(random) * (2 * t + 64) < 64 ? 2 * t : 64.0; }},
      {"2T", [=](auto&) { return 2 * t; }},
  };
}

// Objects of about `intervals` T in all, in a fixed order.
std::vector<Bytes> objects_of(const Mix& mix, double intervals) {
  std::mt19937_64 random(17);
  std::vector<Bytes> sizes;
  for (double total = 0; total < intervals * static_cast<double>(kInterval);) {
    sizes.push_back(static_cast<Bytes>(std::max(1.0, mix.draw(random))));
    total += static_cast<double>(sizes.back());
  }
  return sizes;
}

NodeSums record(const std::vector<Bytes>& sizes, std::uint64_t seed, bool is_pure) {
  using Kind = sampling::Verdict::Kind;
  const double lambda = sampling::rate_of(kInterval);
  sampling::CounterSampler sampler;
  sampler.start(seed, kInterval, lambda, is_pure);
  NodeSums sums;
  sums.could_have_sampled(static_cast<double>(kInterval));
  for (const Bytes size : sizes) {
    const Kind kind = sampler.trial(size).kind;
    if (kind == Kind::kSampled) sums.add(size, lambda);
    if (kind == Kind::kCertain) sums.add_certain(size);
  }
  return sums;
}

/// Mean error over the runs, in standard errors.
class Bias {
 public:
  void add(double error) {
    sum_ += error;
    squares_ += error * error;
  }
  [[nodiscard]] double z() const { return squares_ == 0 ? 0 : sum_ / std::sqrt(squares_); }

 private:
  double sum_ = 0, squares_ = 0;
};

void expect_right(const Mix& mix, double intervals, bool is_pure) {
  const std::vector<Bytes> sizes = objects_of(mix, intervals);
  double true_bytes = 0;
  for (const Bytes size : sizes) true_bytes += static_cast<double>(size);
  const auto true_objects = static_cast<double>(sizes.size());
  Bias bytes_bias, objects_bias;
  int covered = 0;
  for (int run = 0; run < kRuns; ++run) {
    const NodeSums sums = record(sizes, 1 + static_cast<std::uint64_t>(run), is_pure);
    const Estimate bytes = estimate_bytes(sums, 0.95);
    bytes_bias.add(bytes.value - true_bytes);
    objects_bias.add(estimate_objects(sums, 0.95).value - true_objects);
    covered += bytes.interval.lo <= true_bytes && true_bytes <= bytes.interval.hi;
  }
  const std::string what = mix.name + (is_pure ? ", pure, " : ", ") + std::to_string(intervals);
  EXPECT_LT(std::abs(bytes_bias.z()), 4) << what;
  EXPECT_LT(std::abs(objects_bias.z()), 4) << what;
  EXPECT_GE(covered / static_cast<double>(kRuns), 0.94) << what;
}

TEST(SizeMixes, EstimatesAreUnbiasedAndIntervalsCover) {
  for (const Mix& mix : mixes()) {
    for (const double intervals : {5.0, 60.0}) {
      for (const bool is_pure : {false, true}) expect_right(mix, intervals, is_pure);
    }
  }
}

// The interval changes with the program's actions, from T to T/8 and back, and every sample counts
// at the rate of its trial. E is the larger of the two.
TEST(SizeMixes, ChangesOfTheIntervalKeepEstimatesRight) {
  using Kind = sampling::Verdict::Kind;
  Bias bytes_bias;
  int covered = 0;
  constexpr int kObjects = 4096;
  for (int run = 0; run < kRuns; ++run) {
    sampling::CounterSampler sampler;
    sampler.start(90001 + static_cast<std::uint64_t>(run), kInterval, sampling::rate_of(kInterval),
                  false);
    NodeSums sums;
    sums.could_have_sampled(static_cast<double>(kInterval));
    for (int i = 0; i < kObjects; ++i) {
      if (i % 64 == 0) {
        const std::uint64_t interval = i % 128 == 0 ? kInterval : kInterval / 8;
        sampler.change_interval(interval, sampling::rate_of(interval));
      }
      if (sampler.trial(64).kind == Kind::kSampled) sums.add(64, sampler.lambda());
    }
    const Estimate bytes = estimate_bytes(sums, 0.95);
    bytes_bias.add(bytes.value - 64.0 * kObjects);
    covered += bytes.interval.lo <= 64.0 * kObjects && 64.0 * kObjects <= bytes.interval.hi;
  }
  EXPECT_LT(std::abs(bytes_bias.z()), 4);
  EXPECT_GE(covered / static_cast<double>(kRuns), 0.94);
}

}  // namespace
}  // namespace geiger::estimation::size_mixes_test
