// What is known of samples that were carried into a recording, thinned out, or only counted.
#include "analysis/profile/select/thinned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "analysis/profile/lives/leaks.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/selfcheck.h"
#include "analysis/profile/select/totals.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::profile::thinned_test {
namespace {

double bytes_of(const Recording& recording, Kind kind) {
  const estimation::NodeSums sums = total(recording, select(recording, kind));
  return sums.all_bytes();
}

/// Certain samples of 4096 bytes; the recording runs from 1000 to 9000.
struct Known : TestRecording {
  std::uint32_t stack_;

  Known() : stack_(stack({location({"main"})})) { recording.processes[0].end = 9000; }
  Sample& certain(Nanoseconds time, Nanoseconds free_time = 0) {
    Sample& made = sample(stack_, 4096, time, free_time);
    made.is_certain = true;
    made.usable = 4100;
    return made;
  }
};

TEST(UnseenAllocations, AreLiveButWereNotAllocatedHere) {
  Known known;
  known.certain(500).seen_from = 1000;
  known.certain(600, 3000).seen_from = 1000;
  known.certain(2000);
  EXPECT_EQ(bytes_of(known.recording, Kind::kAllocated), 4096);
  EXPECT_EQ(bytes_of(known.recording, Kind::kOverhead), 4);
  EXPECT_EQ(bytes_of(known.recording, Kind::kLiveAtEnd), 8192);
  EXPECT_EQ(bytes_of(known.recording, Kind::kLiveOverhead), 8);
  const Profile peak = select(known.recording, Kind::kLiveAtPeak);
  EXPECT_EQ(peak.peak_times[0], 2000U);
  EXPECT_EQ(bytes_of(known.recording, Kind::kLiveAtPeak), 3 * 4096);
  EXPECT_EQ(process_totals(known.recording, 0).estimated_bytes, 4096);
  EXPECT_EQ(account(known.recording, 0).found, 1U);
  const auto groups = lifetime_groups(known.recording, LifetimeGrouping::kWhole);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].samples.size(), 1U);
}

TEST(UnseenAllocations, PeaksLieInTheRecording) {
  Known known;
  known.certain(500, 4000).seen_from = 1000;
  EXPECT_EQ(select(known.recording, Kind::kLiveAtPeak).peak_times[0], 1000U);
}

TEST(UnseenAllocations, AreNoGrowthWhateverTheWarmUp) {
  Known known;
  for (Nanoseconds i = 0; i < 40; ++i) known.certain(500 + i).seen_from = 1000;
  for (Nanoseconds i = 0; i < 40; ++i) known.certain(1000 + 100 * i, 1050 + 100 * i);
  LeakOptions options;
  options.warm_up = 0;
  const Leaks leaks = find_leaks(known.recording, options);
  ASSERT_EQ(leaks.sites.size(), 1U);
  EXPECT_EQ(leaks.sites[0].all.bytes, 0);
  EXPECT_EQ(leaks.sites[0].since, 40U);
  EXPECT_NE(leaks.sites[0].verdict, LeakVerdict::kSuspect);
}

TEST(MissingSegments, LeaveNoExactTotalAndNoMappings) {
  Known known;
  known.certain(2000);
  known.recording.threads.emplace_back().bytes = 4096;
  auto& segments = known.recording.processes[0].segments;
  segments.resize(2);
  segments[1].number = 1;
  EXPECT_TRUE(exactly_allocated(known.recording));
  EXPECT_TRUE(check_kind(known.recording, Kind::kMapped, Moment::kLast).has_value());
  for (const auto& numbers : {std::pair{1U, 2U}, std::pair{0U, 2U}}) {
    segments[0].number = numbers.first;
    segments[1].number = numbers.second;
    EXPECT_FALSE(exactly_allocated(known.recording));
    EXPECT_FALSE(check_kind(known.recording, Kind::kMapped, Moment::kLast).has_value());
  }
}

TEST(OpenTotals, AreKnownOfWindowsWhereLittleIsOpen) {
  Known known;
  known.certain(2000);
  Thread& thread = known.recording.threads.emplace_back();
  thread.bytes = 1'000'000;
  thread.armed = 10'000;
  EXPECT_FALSE(known_allocated(known.recording)) << "the process was cut off";
  known.recording.processes[0].is_aggregated = true;
  const auto total = known_allocated(known.recording);
  ASSERT_TRUE(total);
  EXPECT_EQ(total->bytes, 1'000'000U);
  EXPECT_EQ(total->open, 10'000U);
  EXPECT_FALSE(exactly_allocated(known.recording));
  thread.armed = 10'001;
  EXPECT_FALSE(known_allocated(known.recording)) << "more than 1 %";
}

TEST(ThinnedSamples, CountAsAllocatedAndTheOthersStandForThem) {
  Known known;
  known.recording.processes[0].thinning = 1;
  for (int i = 0; i < 8; ++i) known.certain(2000).is_thinned_out = i % 2 == 0;
  EXPECT_EQ(bytes_of(known.recording, Kind::kAllocated), 8 * 4096);
  EXPECT_EQ(bytes_of(known.recording, Kind::kLiveAtEnd), 8 * 4096);
  const auto live = total(known.recording, select(known.recording, Kind::kLiveAtEnd));
  EXPECT_EQ(live.certain_samples, 0U) << "there by chance, however large";
  EXPECT_EQ(live.samples, 4U);
  EXPECT_GE(live.largest_interval, 4096 / std::log(2.0) * (1 - 1e-12));
  Selection by_lifetime;
  by_lifetime.splits_by_lifetime = true;
  EXPECT_EQ(select(known.recording, by_lifetime).entries.size(), 1U);
  EXPECT_TRUE(select(known.recording, by_lifetime).is_of_fates);
}

TEST(Tallies, AnswerWhatSumsCan) {
  Known known;
  known.recording.processes[0].is_aggregated = true;
  known.certain(2000);
  Tally tally{known.recording.samples[0], 10, 4, 3000};
  known.recording.samples.clear();
  known.recording.tallies.push_back(tally);
  EXPECT_EQ(bytes_of(known.recording, Kind::kAllocated), 10 * 4096);
  EXPECT_EQ(bytes_of(known.recording, Kind::kLiveAtEnd), 6 * 4096);
  EXPECT_EQ(bytes_of(known.recording, Kind::kOverhead), 40);
  EXPECT_EQ(bytes_of(known.recording, Kind::kLiveOverhead), 24);
  EXPECT_EQ(recorded_samples(known.recording), 10U);
  EXPECT_EQ(process_totals(known.recording, 0).estimated_bytes, 10 * 4096);
  EXPECT_FALSE(check_kind(known.recording, Kind::kLiveAtPeak, Moment::kLast).has_value());
  EXPECT_TRUE(check_kind(known.recording, Kind::kLiveAtEnd, Moment::kLast).has_value());
}

}  // namespace
}  // namespace geiger::profile::thinned_test
