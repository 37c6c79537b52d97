#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "control/run_watch.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"
#include "sampling/samplers.h"

namespace geiger::control {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

std::string overhead_refusal(std::string_view text) { return parse_overhead(text).reason(); }

TEST(Overhead, IsAShareOrARate) {
  EXPECT_DOUBLE_EQ(parse_overhead("0.5%").value().share, 0.005);
  EXPECT_DOUBLE_EQ(parse_overhead("2 %").value().share, 0.02);
  EXPECT_DOUBLE_EQ(parse_overhead("2000/s").value().samples_per_second, 2000);
  for (const char* text : {"", "%", "/s", "0%", "0/s", "-1%", "100%", "nan%", "inf/s", "5", "5%%",
                           "5/m", "1e400/s", "five%"}) {
    EXPECT_NE(overhead_refusal(text).find(text), std::string::npos) << text;
  }
}

// One call per second, with the cost as a multiple of the allowance.
Bytes after(IntervalGovernor& governor, const std::vector<double>& loads) {
  for (const double load : loads) governor.account(kSecond, load * 100, 100, 100);
  return governor.interval();
}

TEST(Governor, DoublesAsOftenAsWouldHaveKeptTheLimit) {
  IntervalGovernor governor(kMiB);
  EXPECT_EQ(after(governor, {1.0}), kMiB);
  EXPECT_EQ(after(governor, {1.01}), 2 * kMiB);
  IntervalGovernor other(kMiB);
  EXPECT_EQ(after(other, {1000}), 1024 * kMiB);
}

TEST(Governor, HalvesOnlyAfterCalmAndNeverBelowWhatIsWanted) {
  IntervalGovernor governor(kMiB);
  after(governor, {3.9});
  EXPECT_EQ(governor.interval(), 4 * kMiB);
  EXPECT_EQ(after(governor, {0, 0}), 4 * kMiB);
  EXPECT_EQ(after(governor, {0}), 2 * kMiB);
  EXPECT_EQ(after(governor, {0, 0, 0.3, 0, 0}), 2 * kMiB);
  EXPECT_EQ(after(governor, {0, 0, 0, 0, 0, 0, 0}), kMiB);
}

TEST(Governor, AllowsHalfUntilADebtIsPaid) {
  IntervalGovernor governor(kMiB);
  after(governor, {2});  // One second's allowance is owed.
  EXPECT_EQ(governor.interval(), 2 * kMiB);
  EXPECT_EQ(after(governor, {0.6}), 4 * kMiB);       // Above half: 0.6 owed.
  EXPECT_EQ(after(governor, {0.4, 0.4}), 4 * kMiB);  // Paid.
  EXPECT_EQ(after(governor, {0.9}), 4 * kMiB);
}

TEST(Governor, CutsAPeriodShortWhenItIsOverdrawn) {
  IntervalGovernor governor(kMiB);
  EXPECT_EQ(governor.account(kSecond / 10, 100, 10, 100), 16 * kMiB);
  EXPECT_EQ(governor.account(kSecond / 100, 100, 1, 100), 16 * kMiB);  // Too short for a verdict.
  EXPECT_EQ(governor.account(kSecond / 10, 1e99, 10, 100), trace::kMostInterval);
  IntervalGovernor few(kMiB);
  EXPECT_EQ(few.account(kSecond / 10, 7, 1, 7), kMiB);
}

TEST(Governor, StaysFiniteWhateverItIsTold) {
  IntervalGovernor governor(1);
  for (const double spent : {0.0, 1e300, 0.0, 1e-300}) {
    for (const double allowed : {0.0, 1e300, 1e-300}) {
      const Bytes interval = governor.account(kSecond, spent, allowed, 1000);
      EXPECT_GE(interval, 1U);
      EXPECT_LE(interval, trace::kMostInterval);
    }
  }
}

// ---- in the loop with the sampler ---------------------------------------------------

/// A program that allocates steadily, and sometimes a thousand times as much. The governor sees
/// what a supervisor sees: past samples.
class Program {
 public:
  static constexpr Bytes kWanted = 64;    ///< Interval if the budget allows it.
  static constexpr double kAllowed = 40;  ///< Samples per second.
  static constexpr int kRounds = 300;     ///< Of a tenth of a second.
  static constexpr Nanoseconds kRound = kSecond / 10;

  explicit Program(std::uint64_t seed) : generator_(seed), governor_(kWanted) {
    sampler_.start(seed, kWanted, sampling::rate_of(kWanted), false);
  }

  void run() {
    for (int round = 0; round < kRounds; ++round) {
      const bool is_burst = round % 100 >= 90;
      const Bytes bytes = (is_burst ? 1000 : 1) * Bytes{200};
      std::uint64_t samples = 0;
      for (Bytes done = 0; done < bytes;) done += allocate(samples);
      total_samples += samples;
      const Bytes interval =
          governor_.account(kRound, static_cast<double>(samples),
                            kAllowed * static_cast<double>(kRound) / kSecond, samples);
      largest_ = std::max(largest_, interval);
      if (interval != sampler_.interval()) {
        sampler_.change_interval(interval, sampling::rate_of(interval));
      }
    }
    sums.could_have_sampled(static_cast<double>(largest_));
  }

  estimation::NodeSums sums;
  double truth = 0;
  std::uint64_t total_samples = 0;

 private:
  Bytes allocate(std::uint64_t& samples) {
    const Bytes size = 8 + generator_() % 57;
    // The interval of certain objects may change too: their pi is 1 at every interval.
    const auto kind = sampler_.trial(size).kind;
    if (kind == sampling::Verdict::Kind::kSampled) sums.add(size, sampler_.lambda());
    if (kind == sampling::Verdict::Kind::kCertain) sums.add_certain(size);
    samples += kind != sampling::Verdict::Kind::kNotSampled;
    truth += static_cast<double>(size);
    return size;
  }

  std::mt19937_64 generator_;
  sampling::CounterSampler sampler_;
  IntervalGovernor governor_;
  Bytes largest_ = kWanted;
};

constexpr int kPrograms = 400;

// Seeds are fixed. |z| < 5 fails for a fresh seed with probability below 1e-6.
TEST(GovernedInterval, LeavesEstimatesUnbiasedAndCovered) {
  double errors = 0, squares = 0, covered = 0;
  for (int i = 0; i < kPrograms; ++i) {
    Program program(static_cast<std::uint64_t>(i) + 1);
    program.run();
    const auto estimate = estimate_bytes(program.sums, 0.95);
    const double error = estimate.value / program.truth - 1;
    errors += error;
    squares += error * error;
    covered += estimate.interval.lo <= program.truth && program.truth <= estimate.interval.hi;
  }
  const double mean = errors / kPrograms;
  const double z = mean / std::sqrt((squares / kPrograms - mean * mean) / kPrograms);
  EXPECT_LT(std::abs(z), 5);
  // Five standard errors of a share of .95 among 400.
  EXPECT_GT(covered / kPrograms, 0.95 - 5 * std::sqrt(0.95 * 0.05 / kPrograms));
}

// Thousandfold bursts. The first tenth of a second of the first one is sampled before the governor
// can see it, and alone costs twice the allowance of half a minute; the rest adds a fifth of that.
TEST(GovernedInterval, KeepsToTheBudgetOverBursts) {
  std::uint64_t samples = 0;
  for (int i = 0; i < 50; ++i) {
    Program program(static_cast<std::uint64_t>(i) + 1);
    program.run();
    samples += program.total_samples;
  }
  const double seconds = 50 * Program::kRounds * static_cast<double>(Program::kRound) / kSecond;
  RecordProperty("samples_per_second", static_cast<int>(static_cast<double>(samples) / seconds));
  EXPECT_LT(static_cast<double>(samples) / seconds, 2.5 * Program::kAllowed);
}

}  // namespace
}  // namespace geiger::control
