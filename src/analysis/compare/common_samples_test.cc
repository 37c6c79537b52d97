// Two recordings of one process: samples that both have cancel out.
#include "analysis/compare/common_samples.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "analysis/compare/comparison.h"
#include "analysis/compare/gates.h"
#include "analysis/compare/test_sides.h"
#include "estimation/sums.h"

namespace geiger::compare {
namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;
using profile::Sample;
using profile::Selection;
using profile::TestRecording;

constexpr Nanoseconds kFirstCopied = 100'000;

Collected collect(const Recording& before, const Recording& after, Kind kind = Kind::kLiveAtEnd,
                  const CommonImages& images = {{0, 0}}) {
  Collector collector(kind, {}, {Pattern{}});
  Selection selection;
  selection.kind = kind;
  const Profile a = profile::select(before, selection), b = profile::select(after, selection);
  const auto moved = moved_between({before, selection, a}, {after, selection, b}, images);
  EXPECT_TRUE(
      collector.add(Which::kBefore, before, a, 1, moved ? &moved->before : nullptr).has_value());
  EXPECT_TRUE(
      collector.add(Which::kAfter, after, b, 1, moved ? &moved->after : nullptr).has_value());
  return collector.finish();
}

/// What a copy of a recording had when its time was `end`.
Recording copied_at(const Recording& recording, Nanoseconds end) {
  Recording copy = recording;
  std::erase_if(copy.samples, [&](const Sample& sample) { return sample.time > end; });
  for (Sample& sample : copy.samples) {
    if (sample.free_time > end) sample.free_time = 0;
  }
  return copy;
}

/// A cache of many samples, and a site that grows by few.
TestRecording growing() {
  TestRecording test = run_with({{"cache", 4000}});
  const auto stack = test.stack({test.location({"leak"}), test.location({"main"})});
  for (int i = 0; i < 500; ++i) test.sample(stack, 16);
  for (int i = 0; i < 20; ++i) test.sample(stack, 16, kFirstCopied + 1);
  return test;
}

TEST(CommonSamples, CancelOut) {
  const TestRecording test = growing();
  const Recording before = copied_at(test.recording, kFirstCopied);
  const Comparison paired = compare(collect(before, test.recording), 0.95);
  EXPECT_EQ(row(paired, "leak").verdict, Verdict::kGrew);
  EXPECT_GT(row(paired, "leak").change.interval.lo, 10 * kTestInterval);
  EXPECT_EQ(row(paired, "leak").before.samples, 500U) << "sides are shown as they are";
  EXPECT_EQ(row(paired, "cache").change.value, 0);
  EXPECT_EQ(row(paired, "cache").verdict, Verdict::kNoise) << "not too few samples";
  EXPECT_NEAR(paired.total.change.value, 20 * kTestInterval, kTestInterval);
  EXPECT_TRUE(is_change(paired.total.verdict));

  const Comparison apart = compare(collect(before, test.recording, Kind::kLiveAtEnd, {}), 0.95);
  EXPECT_FALSE(is_change(row(apart, "leak").verdict)) << "as of different processes";
}

TEST(CommonSamples, CancelOutInEitherOrder) {
  const TestRecording test = growing();
  const Recording before = copied_at(test.recording, kFirstCopied);
  const Comparison back = compare(collect(test.recording, before), 0.95);
  EXPECT_EQ(row(back, "leak").verdict, Verdict::kShrank);
}

TEST(CommonSamples, AreOfTheSameBirth) {
  // An address that another object of the same size has now, and a process of which the other side
  // has nothing.
  TestRecording before = run_with({{"site", 1}});
  TestRecording after = run_with({{"site", 1}});
  after.recording.samples[0].time += 1;
  EXPECT_EQ(collect(before.recording, after.recording).after.total.moved.samples(), 1U);
  after.recording.samples[0].time -= 1;
  EXPECT_EQ(collect(before.recording, after.recording).after.total.moved.samples(), 0U);
  after.recording.samples[0].process = after.add_process();
  EXPECT_EQ(collect(before.recording, after.recording).after.total.moved.samples(), 1U);
}

TEST(CommonSamples, DoNotCancelOutAcrossNames) {
  // Code that has a name in the later recording alone: nothing is known of its site before.
  TestRecording before = run_with({{"unnamed", 100}, {"main", 6}});
  TestRecording after = run_with({{"compiled", 100}, {"main", 6}});
  const Comparison comparison = compare(collect(before.recording, after.recording), 0.95);
  EXPECT_EQ(row(comparison, "compiled").verdict, Verdict::kFirstSeen);
  EXPECT_EQ(row(comparison, "unnamed").verdict, Verdict::kNotSeen);
  EXPECT_EQ(comparison.total.change.value, 0);
}

TEST(CommonSamples, AreOnlyThoseOfAllSamples) {
  const Recording recording = growing().recording;
  const auto are_found = [&](const Selection& selection) {
    const Profile profile = profile::select(recording, selection);
    const Selected selected{recording, selection, profile};
    return moved_between(selected, selected, {{0, 0}}).has_value();
  };
  Selection selection;
  EXPECT_TRUE(are_found(selection));
  selection.to = kFirstCopied;
  EXPECT_TRUE(are_found(selection));
  selection.is_chosen_by_samples = true;
  EXPECT_FALSE(are_found(selection)) << "the split need not be the same in a longer recording";
  selection = {};
  selection.kind = Kind::kOverhead;
  EXPECT_FALSE(are_found(selection));
}

GateResult growth_gate(const Collected& collected, double most) {
  const Gates gates{{{{}, {Measured::kGrowth, most}, "test"}}, {}, std::nullopt, 0.95};
  return check(collected, gates).results.front();
}

TEST(CommonSamples, AreLeftOfGrowth) {
  TestRecording test = run_with({{"site", 1000}});
  for (int i = 0; i < 100; ++i) test.sample(0, 16, kFirstCopied + 1);
  const Recording before = copied_at(test.recording, kFirstCopied);
  const Collected paired = collect(before, test.recording);
  EXPECT_EQ(growth_gate(paired, 0.05).answer, Answer::kFail);
  EXPECT_EQ(growth_gate(paired, 0.2).answer, Answer::kPass);
  const Collected apart = collect(before, test.recording, Kind::kLiveAtEnd, {});
  EXPECT_EQ(growth_gate(apart, 0.05).answer, Answer::kUndecided);
  // Of 100 samples that came the growth is known to about 2 % of the heap; the heap itself to 6 %.
  const GateResult result = growth_gate(paired, 0.05);
  EXPECT_NEAR(*result.value, 0.1, 0.001);
  EXPECT_NEAR(*result.hi - result.lo, 0.037, 0.006);
}

/// A program of small and large objects at two sites, sampled, and copied in between. From the copy
/// on its interval is `coarser` times as long; `level`: thinning of both copies.
class SampledProgram {
 public:
  SampledProgram(std::uint32_t seed, Bytes coarser, std::uint32_t level) : random_(seed) {
    test_.recording.epochs.push_back(
        {coarser * kTestInterval,
         estimation::rate_of_interval(static_cast<double>(coarser * kTestInterval))});
    test_.recording.processes[0].thinning = level;
    const auto main = test_.location({"main"});
    for (const char* name : {"grows", "churns"}) {
      stacks_.push_back(test_.stack({test_.location({name}), main}));
    }
    // Objects that stay, those that come, and those that go.
    for (const std::size_t site : {0U, 1U}) allocate(site, 300, 1000, 0);
    allocate(0, 60, kFirstCopied + 1, 0);
    allocate(1, 150, kFirstCopied + 1, 0);
    allocate(1, 150, 1000, kFirstCopied + 1);
  }

  [[nodiscard]] Comparison compared() const {
    return compare(collect(copied_at(test_.recording, kFirstCopied), test_.recording), 0.95);
  }
  [[nodiscard]] double growth_of(std::size_t site) const { return growth_[site]; }

 private:
  void allocate(std::size_t site, int objects, Nanoseconds time, Nanoseconds freed) {
    const std::uint32_t epoch = time > kFirstCopied ? 1 : 0;
    const profile::Epoch& drawn = test_.recording.epochs[epoch];
    std::uniform_real_distribution<double> uniform;
    for (int i = 0; i < objects; ++i) {
      // The same sizes come and go: 32 bytes to 3 T, evenly on their logarithm.
      const double part = (i + 0.5) / objects;
      const auto size = static_cast<Bytes>(32 * std::pow(96, part));
      if (freed != 0) growth_[site] -= static_cast<double>(size);
      if (time > kFirstCopied) growth_[site] += static_cast<double>(size);
      const bool is_certain = size >= drawn.interval;
      const bool is_drawn =
          is_certain || uniform(random_) < estimation::inclusion_probability(size, drawn.lambda);
      const bool is_kept = uniform(random_) < test_.recording.processes[0].keep();
      if (!is_drawn) continue;
      Sample& sample = test_.sample(stacks_[site], size, time, freed);
      sample.epoch = epoch;
      sample.is_certain = is_certain;
      sample.is_thinned_out = !is_kept;
    }
  }

  std::mt19937_64 random_;
  TestRecording test_{kTestInterval};
  std::vector<std::uint32_t> stacks_;
  double growth_[2] = {};
};

/// The 95 % interval may miss .05 + 4 standard errors = .078 of the programs: false alarm 3e-5
/// each.
TEST(CommonSamples, ChangesHaveValidIntervals) {
  constexpr int kPrograms = 1000;
  const double most = 0.05 + 4 * std::sqrt(0.05 * 0.95 / kPrograms);
  for (const auto& [coarser, level] : {std::pair<Bytes, std::uint32_t>{1, 0}, {4, 0}, {1, 2}}) {
    int missed_growth = 0, missed_churn = 0, missed_total = 0, wrong = 0;
    double error = 0, squares = 0;
    for (std::uint32_t seed = 0; seed < kPrograms; ++seed) {
      const SampledProgram program(seed, coarser, level);
      const Comparison comparison = program.compared();
      const auto misses = [](const Change& change, double truth) {
        return change.interval.lo > truth || change.interval.hi < truth;
      };
      const double truth = program.growth_of(0) + program.growth_of(1);
      missed_growth += misses(row(comparison, "grows").change, program.growth_of(0));
      missed_churn += misses(row(comparison, "churns").change, program.growth_of(1));
      missed_total += misses(comparison.total.change, truth);
      wrong += row(comparison, "churns").change.p_value <= 0.05;
      const double off = comparison.total.change.value - truth;
      error += off / kPrograms;
      squares += off * off / kPrograms;
    }
    EXPECT_LT(missed_growth, most * kPrograms) << coarser << " " << level;
    EXPECT_LT(missed_churn, most * kPrograms) << coarser << " " << level;
    EXPECT_LT(missed_total, most * kPrograms) << coarser << " " << level;
    EXPECT_LT(wrong, most * kPrograms) << coarser << " " << level;
    EXPECT_LT(std::abs(error), 4 * std::sqrt(squares / kPrograms)) << coarser << " " << level;
    RecordProperty("missed_" + std::to_string(coarser) + "_" + std::to_string(level),
                   std::to_string(missed_growth) + " " + std::to_string(missed_churn) + " " +
                       std::to_string(missed_total) + " " + std::to_string(wrong));
  }
}

}  // namespace
}  // namespace geiger::compare
