#include "analysis/profile/select/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/profile/select/peak.h"
#include "analysis/profile/testing/test_recording.h"
#include "estimation/estimate.h"

namespace geiger::profile::profile_test {
namespace {

TEST(Select, MergesSamplesThatAreAlike) {
  TestRecording test;
  const auto stack = test.stack({test.location({"main"})});
  test.sample(stack, 64);
  test.sample(stack, 64);
  test.sample(stack, 65);
  test.sample(kNone, 64);
  const Profile profile = select(test.recording, Kind::kAllocated);
  ASSERT_EQ(profile.entries.size(), 3U);
  EXPECT_EQ(profile.entries[0].count, 2U);
  EXPECT_EQ(profile.entries[0].requested, 64U);
  EXPECT_EQ(profile.entries[2].stack, kNone);
  EXPECT_EQ(profile.rate_factor, 1.0);
  EXPECT_NEAR(profile.largest_interval, 1024, 1);
}

TEST(Select, LiveAtEndLeavesOutWhatWasFreed) {
  TestRecording test;
  test.sample(kNone, 64, 2000, 3000);
  test.sample(kNone, 128, 2000);
  const Profile profile = select(test.recording, Kind::kLiveAtEnd);
  ASSERT_EQ(profile.entries.size(), 1U);
  EXPECT_EQ(profile.entries[0].requested, 128U);
}

TEST(Select, TemporaryIsWhatWasFreedSoon) {
  TestRecording test;
  test.recording.processes[0].end = 50'000'000;
  test.sample(kNone, 1, 2000, 2000 + kTemporaryLife);
  test.sample(kNone, 2, 2000, 2001 + kTemporaryLife);
  test.sample(kNone, 4, 2000);
  test.sample(kNone, 8, 49'500'000);
  test.sample(kNone, 16, 2000, 9'000'000);
  test.recording.samples.back().free_unseen = true;
  const Profile profile = select(test.recording, Kind::kTemporary);
  ASSERT_EQ(profile.entries.size(), 1U);
  EXPECT_EQ(profile.entries[0].requested, 1U);
  ASSERT_EQ(profile.open.size(), 2U) << "too young to tell, and freed at an unknown instant";
  EXPECT_EQ(profile.open[0].requested + profile.open[1].requested, 24U);
}

std::vector<Bytes> sizes_of(const Recording& recording, const Selection& selection) {
  std::vector<Bytes> sizes;
  for (const Entry& entry : select(recording, selection).entries) {
    for (std::uint64_t i = 0; i < entry.count; ++i) sizes.push_back(entry.requested);
  }
  std::ranges::sort(sizes);
  return sizes;
}

TEST(Select, AWindowBeginsAtItsFirstInstantAndEndsBeforeItsLast) {
  TestRecording test;
  for (Nanoseconds time = 1; time <= 5; ++time) test.sample(kNone, time, 1000 * time);
  Selection selection;
  selection.from = 2000;
  selection.to = 4000;
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{2, 3}));
  selection.to.reset();
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{2, 3, 4, 5}));
  selection.from.reset();
  selection.to = 2000;
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{1}));
  EXPECT_TRUE(select(test.recording, selection).is_part);
  EXPECT_FALSE(select(test.recording, Selection{}).is_part);
}

TEST(Select, LiveAtAnInstantInTheProcessesThatWereThere) {
  TestRecording test;
  const auto late = test.add_process();
  test.recording.processes[0].end = 9000;
  test.recording.processes[late].start = 5000;
  test.recording.processes[late].end = 20'000;
  test.sample(kNone, 1, 2000, 4000);
  test.sample(kNone, 2, 3000, 0);
  test.sample(kNone, 3, 6000, 0).process = late;
  Selection selection;
  selection.kind = Kind::kLiveAtEnd;
  const auto live_at = [&](Nanoseconds instant) {
    selection.at = instant;
    return sizes_of(test.recording, selection);
  };
  EXPECT_EQ(live_at(1999), (std::vector<Bytes>{}));
  EXPECT_EQ(live_at(2000), (std::vector<Bytes>{1}));
  EXPECT_EQ(live_at(3999), (std::vector<Bytes>{1, 2}));
  EXPECT_EQ(live_at(4000), (std::vector<Bytes>{2})) << "a free takes effect at its instant";
  EXPECT_EQ(live_at(9000), (std::vector<Bytes>{2, 3}));
  EXPECT_EQ(live_at(9001), (std::vector<Bytes>{3})) << "its process has ended";
  selection.at.reset();
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{3})) << "the last one's end";
  selection.processes = {0};
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{2, 3})) << "its own end";
  selection.processes.clear();
  selection.at_own_ends = true;
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{2, 3}));
}

// One after another, each ends with a full heap: together they never held what both left.
TEST(Select, NoMoreIsLiveAtTheEndThanAtThePeak) {
  for (const Ending ending : {Ending::kExited, Ending::kStopped}) {
    TestRecording test(1);
    const auto second = test.add_process(1);
    test.recording.processes[0].end = 4000;
    test.recording.processes[0].ending = ending;
    test.recording.processes[second].start = 5000;
    test.recording.processes[second].end = 9000;
    test.sample(kNone, 100, 2000);
    test.sample(kNone, 70, 6000).process = second;
    const auto bytes_of = [&](Kind kind) {
      return total(test.recording, select(test.recording, kind)).all_bytes();
    };
    const bool goes_on = ending == Ending::kStopped;  // And holds what was last seen of it.
    EXPECT_EQ(bytes_of(Kind::kLiveAtEnd), goes_on ? 170 : 70);
    EXPECT_EQ(bytes_of(Kind::kLiveUsable), goes_on ? 170 : 70);
    EXPECT_EQ(bytes_of(Kind::kLiveAtPeak), goes_on ? 170 : 100);
  }
}

TEST(Select, OneHeapAndWhatAFilterKeeps) {
  TestRecording test;
  test.recording.heaps = {{"pool"}, {"gpu"}};
  for (Bytes size = 1; size <= 3; ++size) test.sample(kNone, size).label = size == 2 ? 0 : kNone;
  for (const std::uint32_t heap : {0U, 1U, 1U}) {
    Sample sample = test.recording.samples[0];
    sample.heap = heap;
    sample.requested = 10 + heap;
    test.recording.heap_samples.push_back(sample);
  }
  Selection selection;
  selection.keeps = [](const Sample& sample) { return sample.label == 0; };
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{2}));
  selection.keeps = {};
  selection.heap = 1;
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{11, 11}));
  EXPECT_EQ(select(test.recording, selection).heap, 1U);
  selection.heap = kProcessHeap;
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{1, 2, 3}));
}

TEST(Select, WhatAFilterCannotTellOfIsOpen) {
  for (const Kind kind : {Kind::kAllocated, Kind::kLiveAtPeak, Kind::kUsable}) {
    TestRecording test{1};
    for (const Bytes size : {1, 20, 300}) {
      Sample& sample = test.sample(kNone, size, 2000, 0);
      sample.usable = size;
      sample.label = size == 1 ? 0 : size == 20 ? 1 : kNone;
    }
    Selection selection;
    selection.kind = kind;
    selection.keeps = [](const Sample& sample) -> Answer {
      return sample.label == 1 ? Answer(Answer::kOpen) : Answer(sample.label == 0);
    };
    const Profile profile = select(test.recording, selection);
    const estimation::Estimate bytes =
        estimation::estimate_bytes(total(test.recording, profile), 0.95);
    EXPECT_EQ(bytes.value, 1) << name_of(kind);
    EXPECT_EQ(bytes.interval.lo, 1);
    EXPECT_EQ(bytes.interval.hi, 21);
    EXPECT_EQ(bytes.open, 20);
  }
}

TEST(Select, LabelsTypesAndLifetimesTellEntriesApart) {
  TestRecording test;
  test.sample(kNone, 64, 2000, 2500);
  test.sample(kNone, 64, 2000, 2600);
  test.sample(kNone, 64, 2000, 0);
  test.sample(kNone, 64, 2000, 2500).label = 1;
  test.sample(kNone, 64, 2000, 2500).type = 1;
  EXPECT_EQ(select(test.recording, Selection{}).entries.size(), 3U);
  Selection selection;
  selection.splits_by_lifetime = true;
  const Profile profile = select(test.recording, selection);
  EXPECT_EQ(profile.entries.size(), 4U);
  EXPECT_EQ(profile.entries[1].lifetime, kAliveAtEnd);
}

TEST(Select, ThePeakWithinAWindow) {
  TestRecording test(1);
  test.recording.processes[0].end = 9000;
  test.sample(kNone, 100, 2000, 3000);
  test.sample(kNone, 50, 4000, 6000);
  test.sample(kNone, 20, 5000, 8000);
  test.sample(kNone, 60, 7000, 8000);
  Selection selection;
  selection.kind = Kind::kLiveAtPeak;
  const auto peak_at = [&](Nanoseconds from, Nanoseconds to) {
    selection.from = from;
    selection.to = to;
    return select(test.recording, selection).peak_times.at(0);
  };
  EXPECT_EQ(peak_at(0, 9000), 2000U);
  EXPECT_EQ(peak_at(2500, 9000), 2500U) << "still live where the window begins";
  EXPECT_EQ(peak_at(3000, 9000), 7000U);
  EXPECT_EQ(peak_at(3000, 7000), 5000U);
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{20, 50}));
  EXPECT_EQ(peak_at(8000, 9000), 8000U);
  EXPECT_EQ(sizes_of(test.recording, selection), (std::vector<Bytes>{}));
}

// A window that the samples themselves bound is measured by the others.
TEST(Select, WhatAPartOfTheSamplesChoseIsMeasuredByTheOthers) {
  TestRecording test;
  for (int i = 0; i < 1000; ++i) test.sample(kNone, 64, 2000, 0).offset = i % 64;
  test.sample(kNone, 4096, 2000, 0).is_certain = true;
  Selection selection;
  selection.to = 3000;
  selection.is_chosen_by_samples = true;
  const Profile profile = select(test.recording, selection);
  EXPECT_EQ(profile.rate_factor, 0.75);
  EXPECT_NEAR(profile.largest_interval, 1024 / 0.75, 2);
  const auto sizes = sizes_of(test.recording, selection);
  EXPECT_EQ(std::ranges::count(sizes, 4096), 1);
  EXPECT_GT(sizes.size(), 650U);
  EXPECT_LT(sizes.size(), 850U);
}

TEST(Select, APartOfAnotherKind) {
  Selection window;
  window.from = 1000;
  window.to = 2000;
  EXPECT_EQ(of_kind(window, Kind::kLiveAtEnd).at, 2000U);
  EXPECT_FALSE(of_kind(window, Kind::kLiveAtEnd).from);
  EXPECT_EQ(of_kind(window, Kind::kLiveAtPeak).from, 1000U);
  Selection instant;
  instant.kind = Kind::kLiveAtEnd;
  instant.at = 3000;
  EXPECT_FALSE(of_kind(instant, Kind::kAllocated).is_part());
}

TEST(Select, NothingIsSplitWhereEverythingIsCertain) {
  TestRecording test(1);
  test.sample(kNone, 100, 2000, 4000);
  test.sample(kNone, 50, 3000, 5000);
  test.sample(kNone, 70, 4500, 0);
  const Profile peak = select(test.recording, Kind::kLiveAtPeak);
  EXPECT_EQ(peak.rate_factor, 1.0);
  EXPECT_EQ(peak.largest_interval, 0.0);
  ASSERT_EQ(peak.peak_times.size(), 1U);
  EXPECT_EQ(peak.peak_times[0], 3000U);
  const estimation::NodeSums sums = total(test.recording, peak);
  EXPECT_EQ(sums.certain_bytes, 150.0);
  EXPECT_EQ(sums.certain_samples, 2U);
  EXPECT_EQ(sums.weighted_bytes, 0.0);
}

TEST(Select, CertainSamplesCountInBothParts) {
  TestRecording test;
  test.recording.processes[0].end = 9000;
  test.sample(kNone, 1 << 20, 2000, 9000).is_certain = true;
  test.sample(kNone, 10, 3000, 4000);
  const Profile peak = select(test.recording, Kind::kLiveAtPeak);
  EXPECT_EQ(peak.rate_factor, 0.75);
  EXPECT_NEAR(peak.largest_interval, 1024 / 0.75, 2);
  EXPECT_EQ(total(test.recording, peak).certain_bytes, 1 << 20);
}

TEST(Select, ThePeakOfSeveralProcessesIsThatOfTheirSum) {
  TestRecording test(1);
  const auto second = test.add_process(1);
  test.recording.processes[0].end = 8000;
  test.recording.processes[1].end = 9000;
  test.sample(kNone, 100, 2000, 3000);
  test.sample(kNone, 10, 7000);
  for (const auto& [time, bytes] : {std::pair{5000, 70}, {6000, 25}, {8500, 3}}) {
    Sample& sample = test.sample(kNone, static_cast<Bytes>(bytes), static_cast<Nanoseconds>(time));
    sample.process = second;
    sample.epoch = 1;
  }
  const Profile peak = select(test.recording, Kind::kLiveAtPeak);
  EXPECT_EQ(peak.peak_times, (std::vector<Nanoseconds>{7000, 7000}));
  EXPECT_EQ(total(test.recording, peak).certain_bytes, 105.0);
  const Profile first = own_peak(test.recording, {}, 0);
  EXPECT_EQ(first.peak_times[0], 2000U);
  EXPECT_EQ(total(test.recording, first).certain_bytes, 100.0);
  const Profile other = own_peak(test.recording, {}, second);
  EXPECT_EQ(other.peak_times[0], 8500U) << "the first has ended by then";
  EXPECT_EQ(total(test.recording, other).certain_bytes, 98.0);
}

TEST(Select, ThePeakIsNeverBelowTheEnd) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 200; ++run) {
    TestRecording test;
    test.recording.processes[0].seed = random();
    test.recording.processes[0].end = 3000;
    for (Nanoseconds i = 0; i < 60; ++i) {
      const Nanoseconds freed = i % 3 == 0 ? 2500 : 0;
      test.sample(kNone, 64, 1500 + i, freed).offset = random() % 64;
    }
    const Profile peak = select(test.recording, Kind::kLiveAtPeak);
    const Profile end = select(test.recording, Kind::kLiveAtEnd);
    EXPECT_GE(total(test.recording, peak).weighted_bytes,
              total(test.recording, end).weighted_bytes);
    if (peak.rate_factor == 1) {
      EXPECT_EQ(peak.peak_times[0], 3000U);
    }
  }
}

TEST(Select, AnEmptyRecordingIsAnEmptyProfile) {
  TestRecording test;
  for (const Kind kind : {Kind::kAllocated, Kind::kLiveAtEnd, Kind::kLiveAtPeak}) {
    const Profile profile = select(test.recording, kind);
    EXPECT_TRUE(profile.entries.empty());
    EXPECT_GT(total(test.recording, profile).largest_interval, 0.0) << name_of(kind);
  }
}

TEST(Peak, FreesAndAllocationsOfOneInstantCountTogether) {
  TestRecording test(1);
  test.sample(kNone, 100, 2000, 3000);
  test.sample(kNone, 100, 3000, 4000);
  EXPECT_EQ(locate_peak(test.recording, false, {}).time, 2000U);
  test.sample(kNone, 1, 3000, 4000);
  EXPECT_EQ(locate_peak(test.recording, false, {}).time, 3000U);
}

TEST(Peak, PartsAreFairAndRepeatable) {
  TestRecording test;
  for (unsigned i = 0; i < 10000; ++i) test.sample(kNone, 64, 1000 + i).offset = i % 64;
  int in_first = 0;
  for (const Sample& sample : test.recording.samples) {
    const estimation::Parts parts = parts_of(test.recording, sample);
    in_first += parts.in_first;
    ASSERT_TRUE(parts.in_first || parts.in_second);
    ASSERT_EQ(parts.in_first, parts_of(test.recording, sample).in_first);
  }
  // (1 - e^(-x/4)) / (1 - e^(-x)) of them, x = 64/1024, are .2559; sd 44. Fixed inputs, so
  // this either always holds or never (5 sd a priori: 6e-7).
  EXPECT_NEAR(in_first, 2559, 220);
}

/// Offset of the drawn byte of an object that is known to hold one.
std::uint64_t draw_offset(Bytes size, double lambda, std::mt19937_64& random) {
  const double u = std::uniform_real_distribution<double>(0, 1)(random);
  const double pi = estimation::inclusion_probability(size, lambda);
  const double offset = std::floor(-std::log1p(-u * pi) / lambda);
  return std::min(static_cast<std::uint64_t>(offset), size - 1);
}

struct PeakMeans {
  double split;  ///< Over the truth.
  double naive;
};

/// A heap that stays at 64 KiB of objects of `size` bytes while each lives for a
/// while, recorded with T = 1024, often.
PeakMeans flat_heap_peak(Bytes size) {
  constexpr int kRuns = 200;
  constexpr double kLive = 1 << 16;
  constexpr Nanoseconds kLifetime = 10000;
  constexpr Nanoseconds kEnd = 40 * kLifetime;
  std::mt19937_64 random(7);
  std::exponential_distribution<double> lifetime(1.0 / kLifetime);
  PeakMeans means{0, 0};
  for (int run = 0; run < kRuns; ++run) {
    TestRecording test;
    test.recording.processes[0].seed = random();
    test.recording.processes[0].end = 100 * kEnd;
    const double lambda = test.recording.epochs[0].lambda;
    const double pi = estimation::inclusion_probability(size, lambda);
    const double rate = kLive / static_cast<double>(size) * pi / kLifetime;  // samples per ns
    std::exponential_distribution<double> gap(rate);
    // Starts ten lifetimes early, so that the heap is flat from the first instant.
    for (double time = -10.0 * kLifetime + gap(random); time < kEnd; time += gap(random)) {
      const double end = time + lifetime(random);
      if (end <= 0) continue;
      const auto start = static_cast<Nanoseconds>(1000 + std::max(time, 0.0));
      test.sample(kNone, size, start, static_cast<Nanoseconds>(1001 + end)).offset =
          draw_offset(size, lambda, random);
    }
    const Profile peak = select(test.recording, Kind::kLiveAtPeak);
    means.split += total(test.recording, peak).weighted_bytes / kLive / kRuns;
    const Nanoseconds chosen = locate_peak(test.recording, false, {}).time;
    for (const Sample& sample : test.recording.samples) {
      if (is_live_at(sample, chosen)) means.naive += static_cast<double>(size) / pi / kLive / kRuns;
    }
  }
  return means;
}

/// The maximum of the estimate alone overstates the heap by several standard errors.
TEST(Peak, IsUnbiasedOnAFlatHeap) {
  const PeakMeans means = flat_heap_peak(64);
  // One run: the second part holds 48 samples live, so sd = 0.144; the mean of 200
  // has sd 0.0102. 4 sd and more: false alarm 6e-5, for a fixed seed never.
  EXPECT_NEAR(means.split, 1.0, 0.05);
  // What the split prevents: here about +3 standard errors of 0.125.
  EXPECT_GT(means.naive, 1.25);
}

/// Every object is drawn here, sampled or not, as the heap itself has a maximum
/// that the first part finds. A coin per sample would read 30 % too little.
TEST(Peak, IsUnbiasedForObjectsNearTheInterval) {
  constexpr int kRuns = 400;
  constexpr Bytes kSize = 900;
  std::mt19937_64 random(11);
  std::exponential_distribution<double> lifetime(1e-4);
  std::exponential_distribution<double> gap(7e-3);  // 70 objects live on average
  double ratio = 0;
  int covered = 0;
  for (int run = 0; run < kRuns; ++run) {
    TestRecording test;
    test.recording.processes[0].seed = random();
    test.recording.processes[0].end = 10'000'000;
    const double lambda = test.recording.epochs[0].lambda;
    std::bernoulli_distribution is_sampled(estimation::inclusion_probability(kSize, lambda));
    std::vector<Sample> objects;
    for (double time = 1000; time < 2e5; time += gap(random)) {
      Sample object;
      object.time = static_cast<Nanoseconds>(time);
      object.free_time = static_cast<Nanoseconds>(time + 1 + lifetime(random));
      objects.push_back(object);
      if (!is_sampled(random)) continue;
      test.sample(kNone, kSize, object.time, object.free_time).offset =
          draw_offset(kSize, lambda, random);
    }
    const Profile peak = select(test.recording, Kind::kLiveAtPeak);
    const auto truth = std::ranges::count_if(
        objects, [&](const Sample& object) { return is_live_at(object, peak.peak_times[0]); });
    const auto bytes = static_cast<double>(truth * kSize);
    const estimation::NodeSums sums = total(test.recording, peak);
    ratio += sums.weighted_bytes / bytes / kRuns;
    const estimation::Interval interval = estimation::estimate_bytes(sums, 0.95).interval;
    covered += interval.lo <= bytes && bytes <= interval.hi;
  }
  // Some 85 objects live, each in the second part with probability .48: one run has
  // sd sqrt(.52 / .48 / 85) = .113, the mean of 400 .0056. 4 sd and more.
  EXPECT_NEAR(ratio, 1.0, 0.029);
  // The interval covers the heap at the chosen instant as it does any: at least 95 % of
  // 400, less 4 standard errors of 4.4.
  EXPECT_GE(covered, 380 - 18);
}

}  // namespace
}  // namespace geiger::profile::profile_test
