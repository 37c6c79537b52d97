#include "analysis/profile/memory/measured.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "analysis/profile/groups/view.h"
#include "analysis/profile/testing/test_recording.h"
#include "estimation/estimate.h"

namespace geiger::profile::measured_test {
namespace {

constexpr Bytes kInterval = 100;

/// An object with what is known of it.
struct Object {
  Bytes requested, usable, resident, swapped, waste;
  Bytes zero = 0;
  std::uint32_t copies = 1;  ///< A divisor of `requested`.
};
const std::vector<Object> kObjects = {{8, 24, 8, 0, 700, 8, 1},    {40, 40, 10, 5, 3, 3, 4},
                                      {90, 104, 0, 90, 50, 90, 1}, {17, 24, 17, 0, 999, 2, 17},
                                      {64, 72, 0, 0, 1, 0, 2},     {1, 24, 1, 0, 4000, 0, 1},
                                      {55, 56, 5, 50, 0, 11, 5},   {500, 504, 99, 1, 7, 250, 1}};

double inclusion(const Object& object) {
  return estimation::inclusion_probability(
      object.requested, estimation::rate_of_interval(static_cast<double>(kInterval)));
}

/// The recording in which the objects of `subset` were sampled, all alive at the end.
Recording recording_of(unsigned subset) {
  Recording recording;
  recording.processes.resize(1);
  recording.processes[0].interval = kInterval;
  recording.epochs.push_back(
      {kInterval, estimation::rate_of_interval(static_cast<double>(kInterval))});
  Observations observations;
  Snapshot snapshot;
  snapshot.time = 100;
  snapshot.waste_fault.clear();
  Content content;
  content.time = 100;
  for (unsigned i = 0; i < kObjects.size(); ++i) {
    if ((subset >> i & 1U) == 0) continue;
    const auto index = static_cast<std::uint32_t>(recording.samples.size());
    Sample sample;
    sample.time = 1;
    sample.requested = kObjects[i].requested;
    sample.usable = kObjects[i].usable;
    recording.samples.push_back(sample);
    snapshot.residency.push_back({index, kObjects[i].resident, kObjects[i].swapped});
    snapshot.waste.push_back({index, kObjects[i].waste});
    content.samples.push_back({index, kObjects[i].zero, 0, kObjects[i].copies, kObjects[i].copies});
  }
  observations.content_at_maximum = content;
  observations.at_maximum = snapshot;
  recording.observations.push_back(observations);
  return recording;
}

double value_of(const Object& object, Kind kind) {
  switch (kind) {
    case Kind::kResident:
      return static_cast<double>(object.resident);
    case Kind::kSwapped:
      return static_cast<double>(object.swapped);
    case Kind::kUntouched:
      return static_cast<double>(object.requested - object.resident - object.swapped);
    case Kind::kStranded:
      return static_cast<double>(object.waste);
    case Kind::kUsable:
    case Kind::kLiveUsable:
      return static_cast<double>(object.usable);
    case Kind::kZero:
      return static_cast<double>(object.zero);
    case Kind::kWhollyZero:
      return static_cast<double>(object.zero == object.requested ? object.requested : 0);
    case Kind::kDuplicate:
      return static_cast<double>(object.requested - object.requested / object.copies);
    default:
      return static_cast<double>(object.usable - object.requested);
  }
}

/// Over every outcome of sampling, each with its probability: the estimate is right on
/// average, and so is the estimate of its variance.
class Enumeration : public ::testing::TestWithParam<Kind> {};

TEST_P(Enumeration, IsUnbiasedWithItsVariance) {
  double mean = 0, square = 0, variance = 0;
  for (unsigned subset = 0; subset < 1U << kObjects.size(); ++subset) {
    double probability = 1;
    for (unsigned i = 0; i < kObjects.size(); ++i) {
      const double pi = inclusion(kObjects[i]);
      probability *= (subset >> i & 1U) != 0 ? pi : 1 - pi;
    }
    const Recording recording = recording_of(subset);
    const estimation::NodeSums sums = total(recording, select(recording, GetParam()));
    mean += probability * sums.weighted_bytes;
    square += probability * sums.weighted_bytes * sums.weighted_bytes;
    variance += probability * sums.bytes_variance;
  }
  double truth = 0;
  for (const Object& object : kObjects) truth += value_of(object, GetParam());
  EXPECT_NEAR(mean, truth, 1e-9 * truth);
  const double expected = square - mean * mean;
  EXPECT_NEAR(variance, expected, 1e-9 * expected);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Enumeration,
                         ::testing::Values(Kind::kResident, Kind::kSwapped, Kind::kUntouched,
                                           Kind::kStranded, Kind::kOverhead, Kind::kLiveOverhead,
                                           Kind::kUsable, Kind::kLiveUsable, Kind::kZero,
                                           Kind::kWhollyZero, Kind::kDuplicate),
                         [](const auto& kind) {
                           std::string name(name_of(kind.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(Measured, TheHeaviestRatioBoundsTheNextEvent) {
  const Recording recording = recording_of(0xff);
  const double plain = select(recording, Kind::kAllocated).largest_interval;
  EXPECT_DOUBLE_EQ(select(recording, Kind::kResident).largest_interval, plain);
  EXPECT_DOUBLE_EQ(select(recording, Kind::kOverhead).largest_interval, 23 * plain);
  EXPECT_DOUBLE_EQ(select(recording, Kind::kStranded).largest_interval, 4000 * plain);
}

TEST(Measured, UsableIsRequestedAndOverhead) {
  const Recording recording = recording_of(0xff);
  const auto bytes = [&](Kind kind) {
    return total(recording, select(recording, kind)).weighted_bytes;
  };
  EXPECT_NEAR(bytes(Kind::kUsable), bytes(Kind::kAllocated) + bytes(Kind::kOverhead), 1e-6);
  EXPECT_NEAR(bytes(Kind::kLiveUsable), bytes(Kind::kLiveAtEnd) + bytes(Kind::kLiveOverhead), 1e-6);
}

/// One object in a hundred has no bytes. Sampled here each by itself: 3,000 recordings of 2,000
/// objects, T a few hundred times their size. At least 95 % less 4 standard errors (.004) cover;
/// false alarm 3e-5, and the seed is fixed.
TEST(Measured, IntervalsOfUsableBytesCover) {
  constexpr int kRuns = 3000;
  const std::vector<Object> kinds = {{0, 24, 0, 0, 0},     {1, 24, 0, 0, 0},  {16, 24, 0, 0, 0},
                                     {17, 40, 0, 0, 0},    {64, 72, 0, 0, 0}, {100, 104, 0, 0, 0},
                                     {1000, 1008, 0, 0, 0}};
  const std::vector<int> counts = {20, 200, 700, 500, 400, 150, 30};
  constexpr Bytes kT = 4096;
  const double lambda = estimation::rate_of_interval(static_cast<double>(kT));
  double truth = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    truth += static_cast<double>(kinds[i].usable) * counts[i];
  }
  std::mt19937_64 random(7);
  int covered = 0;
  double mean = 0;
  for (int run = 0; run < kRuns; ++run) {
    TestRecording test(kT);
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const double pi = estimation::inclusion_probability(kinds[i].requested, lambda);
      const int drawn = std::binomial_distribution<int>(counts[i], pi)(random);
      for (int k = 0; k < drawn; ++k) {
        test.sample(kNone, kinds[i].requested).usable = kinds[i].usable;
      }
    }
    const estimation::Estimate found = estimation::estimate_bytes(
        total(test.recording, select(test.recording, Kind::kUsable)), 0.95);
    covered += found.interval.lo <= truth && truth <= found.interval.hi ? 1 : 0;
    mean += found.value / kRuns;
  }
  EXPECT_GE(covered, 0.95 * kRuns - 4 * std::sqrt(kRuns * 0.95 * 0.05));
  // One recording has about 26 samples, a deviation of a quarter.
  EXPECT_NEAR(mean / truth, 1, 0.05);
}

TEST(Measured, UsableIsExactWhereEverythingIsRecorded) {
  TestRecording test(1);
  test.sample(kNone, 0).usable = 24;
  test.sample(kNone, 100).usable = 104;
  const Profile usable = select(test.recording, Kind::kUsable);
  const estimation::Estimate found =
      estimation::estimate_bytes(total(test.recording, usable), 0.95);
  EXPECT_EQ(found.value, 128);
  EXPECT_EQ(found.interval.lo, 128);
  EXPECT_EQ(found.interval.hi, 128);
}

TEST(Measured, ResidentSwappedAndUntouchedAreTheLiveHeap) {
  const Recording recording = recording_of(0xff);
  double sum = 0;
  for (const Kind kind : {Kind::kResident, Kind::kSwapped, Kind::kUntouched}) {
    sum += total(recording, select(recording, kind)).weighted_bytes;
  }
  EXPECT_NEAR(sum, total(recording, select(recording, Kind::kLiveAtEnd)).weighted_bytes, 1e-6);
}

TEST(Measured, WhatWasFreedBeforeTheSnapshotIsLeftOut) {
  Recording recording = recording_of(0xff);
  for (Sample& sample : recording.samples) sample.free_time = 50;
  EXPECT_TRUE(select(recording, Kind::kResident).entries.empty());
  EXPECT_TRUE(select(recording, Kind::kLiveOverhead).entries.empty());
  EXPECT_FALSE(select(recording, Kind::kOverhead).entries.empty());
}

TEST(Measured, NothingIsSaidWhereNothingIsKnown) {
  Recording recording = recording_of(0xff);
  EXPECT_TRUE(check_kind(recording, Kind::kResident, Moment::kMaximum).has_value());
  EXPECT_FALSE(check_kind(recording, Kind::kResident, Moment::kLast).has_value());
  recording.observations[0].at_maximum->residency_fault = "pagemap: refused";
  EXPECT_EQ(check_kind(recording, Kind::kResident, Moment::kMaximum).reason(), "pagemap: refused");
  EXPECT_TRUE(select(recording, Kind::kResident).entries.empty());
  EXPECT_TRUE(check_kind(recording, Kind::kOverhead, Moment::kMaximum).has_value());
  recording.observations.clear();
  EXPECT_FALSE(check_kind(recording, Kind::kStranded, Moment::kMaximum).has_value());
  EXPECT_TRUE(check_kind(recording, Kind::kAllocated, Moment::kMaximum).has_value());
}

TEST(Measured, ASlabsUsersShareItsFreeBytes) {
  Recording recording = recording_of(0x3);
  recording.observations.clear();
  recording.utilization = {{0, 10, 4096, 4096}, {0, 20, 4096, 1024}, {1, 20, 4096, 0}};
  EXPECT_TRUE(check_kind(recording, Kind::kStranded, Moment::kMaximum).has_value());
  const Profile profile = select(recording, Kind::kStranded);
  ASSERT_EQ(profile.entries.size(), 1U);  // the other's slab is full
  EXPECT_EQ(profile.entries[0].value, 8U) << "24 of 3072 used bytes answer for 8 of 1024";
}

/// What the kernel reported inside the process, not what was read from outside.
Recording answered(unsigned subset) {
  Recording recording = recording_of(subset);
  recording.observations.clear();
  for (std::uint32_t i = 0, object = 0; i < recording.samples.size(); ++i, ++object) {
    while ((subset >> object & 1U) == 0) ++object;
    recording.residency_answers.push_back({i, 100, kObjects[object].resident});
  }
  return recording;
}

TEST(Answers, AreMeasuredLikeSnapshots) {
  for (unsigned subset = 0; subset < 1U << kObjects.size(); ++subset) {
    const Recording outside = recording_of(subset), inside = answered(subset);
    const auto seen = total(outside, select(outside, Kind::kResident));
    const auto told = total(inside, select(inside, Kind::kResident));
    EXPECT_EQ(told.weighted_bytes, seen.weighted_bytes);
    EXPECT_EQ(told.bytes_variance, seen.bytes_variance);
  }
}

TEST(Answers, TheNewestCountsAndOnlyWhatWasLive) {
  Recording recording = answered(0x3);
  recording.residency_answers.push_back({0, 200, 5});
  recording.residency_answers.push_back({1, 150, 6});
  Profile profile = select(recording, Kind::kResident);
  ASSERT_EQ(profile.entries.size(), 1U) << "of the other nothing is known at 200";
  EXPECT_EQ(profile.entries[0].value, 5U);
  auto facts = facts_of_answers(recording, Moment::kMaximum);
  ASSERT_EQ(facts.size(), 1U);
  EXPECT_EQ(facts[0].time, 200U);
  EXPECT_EQ(facts[0].answered, 1U);
  EXPECT_EQ(facts[0].unanswered, 1U);
  recording.samples[1].free_time = 200;  // Not live then, so no answer was expected.
  recording.samples[0].free_time = 201;
  facts = facts_of_answers(recording, Moment::kMaximum);
  EXPECT_EQ(facts[0].answered, 1U);
  EXPECT_EQ(facts[0].unanswered, 0U);
  recording.samples[0].free_time = 200;
  EXPECT_TRUE(select(recording, Kind::kResident).entries.empty());
  recording.samples[0].free_time = 0;
  recording.samples[0].time = 201;
  EXPECT_TRUE(select(recording, Kind::kResident).entries.empty());
}

/// Three objects, allocated by two functions, of which the answers are these; nothing: none came.
TestRecording told(Bytes interval, const std::vector<std::optional<Bytes>>& answers) {
  TestRecording test(interval);
  const std::uint32_t stacks[] = {test.stack({test.location({"first"})}),
                                  test.stack({test.location({"second"})})};
  constexpr Bytes kSizes[] = {8, 40, 90};
  for (std::uint32_t i = 0; i < answers.size(); ++i) {
    test.sample(stacks[i / 2], kSizes[i]);
    if (answers[i]) test.recording.residency_answers.push_back({i, 3000, *answers[i]});
  }
  return test;
}

estimation::Estimate resident(const Recording& recording) {
  return estimation::estimate_bytes(total(recording, select(recording, Kind::kResident)), 0.95);
}

TEST(Answers, ThoseThatAreMissingLeaveAnythingPossible) {
  for (const Bytes interval : {1U, 100U, 4096U}) {
    const auto estimate = resident(told(interval, {8, 10, {}}).recording);
    const auto least = resident(told(interval, {8, 10, 0}).recording);
    const auto most = resident(told(interval, {8, 10, 90}).recording);
    EXPECT_EQ(estimate.value, least.value);
    EXPECT_EQ(estimate.variance, least.variance);
    EXPECT_EQ(estimate.interval.lo, least.interval.lo);
    EXPECT_DOUBLE_EQ(estimate.interval.hi, most.interval.hi);
    EXPECT_EQ(estimate.samples, interval == 1 ? 0U : 2U);
    EXPECT_GT(most.interval.hi, least.interval.hi);
  }
  const auto exact = resident(told(1, {8, 10, {}}).recording);
  EXPECT_EQ(exact.interval.lo, 18);
  EXPECT_EQ(exact.interval.hi, 108);
}

TEST(Answers, ThoseThatAreMissingAreOpenInTheirRowsOnly) {
  for (const Bytes interval : {1U, 100U}) {
    const Recording recording = told(interval, {8, 10, {}}).recording;
    const Recording at_most = told(interval, {8, 10, 90}).recording;
    const auto row_of = [](const Recording& from, const char* name) {
      const auto rows = table(from, select(from, Kind::kResident), GroupBy::kFunction);
      return *std::ranges::find(rows, name, &Row::name);
    };
    const auto hi = [](const estimation::NodeSums& sums) {
      return estimation::estimate_bytes(sums, 0.95).interval.hi;
    };
    EXPECT_FALSE(row_of(recording, "first").total.has_open());
    EXPECT_EQ(hi(row_of(recording, "first").total), hi(row_of(at_most, "first").total));
    const Row second = row_of(recording, "second");
    EXPECT_EQ(second.total.samples + second.total.certain_samples, 0U);
    EXPECT_EQ(estimation::estimate_bytes(second.total, 0.95).value, 0);
    EXPECT_EQ(estimation::estimate_bytes(second.total, 0.95).interval.lo, 0);
    EXPECT_EQ(hi(second.self), hi(row_of(at_most, "second").self));
    EXPECT_EQ(tree(recording, select(recording, Kind::kResident), false).nodes[0].total,
              total(recording, select(recording, Kind::kResident)));
  }
}

TEST(Answers, FiltersHoldForThoseThatAreMissing) {
  const Recording recording = told(1, {8, {}, {}}).recording;
  Selection selection;
  selection.kind = Kind::kResident;
  selection.keeps = [](const Sample& sample) { return sample.requested == 40; };
  const auto found =
      estimation::estimate_bytes(total(recording, select(recording, selection)), 0.95);
  EXPECT_EQ(found.value, 0);
  EXPECT_EQ(found.interval.hi, 40);
  selection.keeps = nullptr;
  selection.kind = Kind::kLiveAtEnd;
  EXPECT_TRUE(select(recording, selection).open.empty());
}

TEST(Answers, StandOnlyWhereNobodyCouldLook) {
  Recording recording = recording_of(0x1);
  recording.observations[0].last = recording.observations[0].at_maximum;
  recording.residency_answers = {{0, 50, 3}};
  EXPECT_EQ(select(recording, Kind::kResident).entries.at(0).value, 8U) << "read later";
  EXPECT_TRUE(facts_of_answers(recording, Moment::kMaximum).empty());
  EXPECT_TRUE(check_kind(recording, Kind::kUntouched, Moment::kLast).has_value());
  recording.residency_answers = {{0, 101, 3}};
  EXPECT_EQ(select(recording, Kind::kResident).entries.at(0).value, 3U) << "asked later";
  EXPECT_TRUE(select(recording, Kind::kUntouched).entries.empty());
  recording.residency_answers = {{0, 50, 3}};
  recording.observations[0].last->residency_fault = "pagemap: Permission denied";
  EXPECT_EQ(select(recording, Kind::kResident).entries.at(0).value, 3U);
  for (const Kind kind : {Kind::kSwapped, Kind::kUntouched}) {
    const auto told = check_kind(recording, kind, Moment::kMaximum);
    ASSERT_FALSE(told.has_value());
    EXPECT_NE(told.reason().find("mincore"), std::string::npos);
  }
  EXPECT_TRUE(check_kind(recording, Kind::kResident, Moment::kMaximum).has_value());
}

Recording one(Bytes size, SampleContent known) {
  TestRecording test(1);
  test.sample(kNone, size).is_certain = true;
  Content content;
  content.time = 3000;
  content.samples.push_back(known);
  Observations observations;
  observations.content_at_maximum = std::move(content);
  test.recording.observations.push_back(std::move(observations));
  return std::move(test.recording);
}

estimation::Estimate estimate_of(const Recording& recording, Kind kind) {
  return estimation::estimate_bytes(total(recording, select(recording, kind)), 0.95);
}

std::pair<double, double> limits(const estimation::Estimate& estimate) {
  return {estimate.interval.lo, estimate.interval.hi};
}

TEST(ContentKind, WhatIsKnownIsExact) {
  const Recording recording = one(600, {0, 40, 0, 3, 3});
  EXPECT_EQ(limits(estimate_of(recording, Kind::kZero)), std::pair(40.0, 40.0));
  EXPECT_EQ(estimate_of(recording, Kind::kWhollyZero).interval.hi, 0);
  EXPECT_EQ(limits(estimate_of(recording, Kind::kDuplicate)), std::pair(400.0, 400.0));
}

TEST(ContentKind, WhatIsNotKnownIsInUpperLimits) {
  const Recording swapped = one(600, {0, 0, 600, 1, kAnyCopies});
  for (const Kind kind : {Kind::kZero, Kind::kWhollyZero, Kind::kDuplicate}) {
    const auto found = estimate_of(swapped, kind);
    EXPECT_EQ(found.value, 0);
    EXPECT_EQ(limits(found), std::pair(0.0, 600.0)) << name_of(kind);
  }
  const Recording part = one(600, {0, 100, 500, 1, kAnyCopies});
  EXPECT_EQ(estimate_of(part, Kind::kZero).interval.lo, 100);
  EXPECT_GE(estimate_of(part, Kind::kZero).interval.hi, 600);
  EXPECT_EQ(limits(estimate_of(part, Kind::kWhollyZero)), std::pair(0.0, 600.0));
  const Recording not_zero = one(600, {0, 99, 500, 1, kAnyCopies});
  EXPECT_EQ(estimate_of(not_zero, Kind::kWhollyZero).interval.hi, 0) << "one byte is not";
}

TEST(ContentKind, ReasonsAreGiven) {
  Recording recording = one(600, {0, 40, 0, 3, 3});
  EXPECT_TRUE(check_kind(recording, Kind::kZero, Moment::kMaximum).has_value());
  EXPECT_EQ(check_kind(recording, Kind::kZero, Moment::kLast).reason(), kNoContent);
  recording.observations[0].content_fault = "maps: Permission denied";
  EXPECT_EQ(check_kind(recording, Kind::kZero, Moment::kLast).reason(), "maps: Permission denied");
}

TEST(Measured, KindsHaveNames) {
  for (int i = 0; i <= static_cast<int>(Kind::kLiveUsable); ++i) {
    EXPECT_EQ(kind_named(name_of(static_cast<Kind>(i))), static_cast<Kind>(i));
  }
  EXPECT_FALSE(kind_named("nothing"));
}

/// The mean of 100,000 draws of 0.3 has a standard error of 0.00145: 5 of them.
TEST(Occupancy, RoundsRightOnAverage) {
  double sum = 0;
  for (std::uint64_t salt = 0; salt < 100'000; ++salt) {
    const Bytes rounded = rounded_at_random(2.3, salt);
    EXPECT_TRUE(rounded == 2 || rounded == 3);
    sum += static_cast<double>(rounded);
  }
  EXPECT_NEAR(sum / 100'000, 2.3, 0.0073);
  EXPECT_EQ(rounded_at_random(7, 3), 7U);
  EXPECT_EQ(rounded_at_random(0, 3), 0U);
  EXPECT_EQ(rounded_at_random(-1, 3), 0U);
}

TEST(Mapped, IsToldOfAllProcessesOrOfNone) {
  TestRecording test;
  test.recording.processes.push_back(test.recording.processes[0]);
  for (const Kind kind : {Kind::kMapped, Kind::kMappedTotal}) {
    EXPECT_TRUE(check_kind(test.recording, kind, Moment::kMaximum).has_value());
  }
  test.recording.processes[1].segments = {{.number = 3}};
  for (const Kind kind : {Kind::kMapped, Kind::kMappedTotal}) {
    EXPECT_EQ(check_kind(test.recording, kind, Moment::kMaximum).reason(),
              "segments of the recording are missing, and with them their mappings");
  }
}

}  // namespace
}  // namespace geiger::profile::measured_test
