// Thinned recordings of a program that knows its own truth: the fates that were kept stand
// for all.
//
// Of 400 recordings with fixed seeds, the errors average 0 within 4 standard errors of that
// average, and 95 % intervals cover at least .95 less 4 standard errors of a share of 400:
// .906. Each comparison is false by chance with 6e-5 at the most by the normal law. Everything
// is fixed, so the test always passes or never.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "analysis/ingest/decode/process_facts.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/profile.h"
#include "estimation/estimate.h"

namespace geiger::ingest {
namespace {

using profile::Kind;
using profile::Recording;
using profile::Sample;
using profile::Selection;

constexpr double kLevel = 0.95;
constexpr Bytes kT = 4096;
constexpr Nanoseconds kStart = 1'000'000;
constexpr Nanoseconds kMiddle = kStart + 500'000'000;
constexpr Nanoseconds kEnd = kStart + 1'000'000'000;
constexpr int kRecordings = 400;
constexpr std::uint32_t kThinning = 2;  // One of four.

struct Allocation {
  Nanoseconds time = 0, free_time = 0;
  Bytes size = 0;
};

/// Sizes from 64 bytes to T, some of 2 T; the heap swells in the middle of the time.
const std::vector<Allocation>& program() {
  static const std::vector<Allocation> made = [] {
    std::mt19937_64 random(1);
    const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    std::vector<Allocation> all;
    constexpr int kAllocations = 8000;
    for (int i = 0; i < kAllocations; ++i) {
      const double at = (i + uniform()) / kAllocations;
      Allocation one;
      one.time = kStart + static_cast<Nanoseconds>(at * static_cast<double>(kEnd - kStart));
      const double life = -std::log(uniform() + 1e-12) * (at > 0.4 && at < 0.6 ? 2e8 : 4e7);
      one.free_time = one.time + static_cast<Nanoseconds>(life);
      one.size = i % 50 == 49 ? 2 * kT : static_cast<Bytes>(64 * std::pow(64.0, uniform()));
      all.push_back(one);
    }
    return all;
  }();
  return made;
}

double truth(const std::function<bool(const Allocation&)>& matches) {
  double bytes = 0;
  for (const Allocation& one : program()) {
    if (matches(one)) bytes += static_cast<double>(one.size);
  }
  return bytes;
}

double truly_live_at(Nanoseconds instant) {
  return truth(
      [&](const Allocation& one) { return one.time <= instant && one.free_time > instant; });
}

/// As a right sampler records it and a runtime with little memory thins it.
Recording recorded(std::uint64_t seed) {
  Recording recording;
  recording.epochs.push_back({kT, estimation::rate_of_interval(static_cast<double>(kT))});
  profile::Process process;
  process.start = kStart;
  process.end = kEnd;
  process.seed = seed;
  process.interval = kT;
  process.thinning = kThinning;
  process.ending = profile::Ending::kExited;
  recording.processes.push_back(process);
  std::mt19937_64 random(seed);
  const auto draw = [&] {
    const double u = static_cast<double>((random() >> 11) + 1) * 0x1p-53;
    return static_cast<Bytes>(-std::log(u) / recording.epochs[0].lambda);
  };
  Bytes skip = draw();
  for (const Allocation& one : program()) {
    const bool is_certain = one.size >= kT;
    if (!is_certain && skip >= one.size) {
      skip -= one.size;
      continue;
    }
    Sample sample;
    sample.time = one.time;
    sample.free_time = one.free_time > kEnd ? 0 : one.free_time;
    sample.address = 0x10000 + 64 * recording.samples.size();
    sample.requested = sample.usable = one.size;
    sample.offset = is_certain ? 0 : skip;
    sample.is_certain = is_certain;
    recording.samples.push_back(sample);
    if (!is_certain) skip = draw();
  }
  mark_thinned_out(recording, 0);
  return recording;
}

/// Errors of one kind of number over all recordings.
struct Errors {
  double sum = 0, squares = 0;
  int covered = 0, all = 0;

  void add(const estimation::Estimate& estimate, double true_bytes) {
    const double error = estimate.value - true_bytes;
    sum += error;
    squares += error * error;
    covered += estimate.interval.lo <= true_bytes && true_bytes <= estimate.interval.hi;
    ++all;
  }
  [[nodiscard]] double z() const {
    const double mean = sum / all;
    return mean / std::sqrt((squares / all - mean * mean) / all);
  }
  [[nodiscard]] double coverage() const { return static_cast<double>(covered) / all; }
};

estimation::Estimate bytes_of(const Recording& recording, const Selection& selection) {
  return estimation::estimate_bytes(total(recording, select(recording, selection)), kLevel);
}

void expect_right(const Errors& errors, const char* what) {
  constexpr double kLeast = 0.95 - 4 * 0.0109;
  EXPECT_LT(std::abs(errors.z()), 4) << what;
  EXPECT_GE(errors.coverage(), kLeast) << what;
}

TEST(ThinnedFates, LiveBytesAreUnbiasedAndCovered) {
  Errors live, at_end, allocated;
  Selection in_middle;
  in_middle.kind = Kind::kLiveAtEnd;
  in_middle.at = kMiddle;
  Selection last;
  last.kind = Kind::kLiveAtEnd;
  for (int i = 1; i <= kRecordings; ++i) {
    const Recording recording = recorded(static_cast<std::uint64_t>(i));
    live.add(bytes_of(recording, in_middle), truly_live_at(kMiddle));
    at_end.add(bytes_of(recording, last), truly_live_at(kEnd));
    allocated.add(bytes_of(recording, {}), truth([](const Allocation&) { return true; }));
  }
  expect_right(live, "in the middle");
  expect_right(at_end, "at the end");
  expect_right(allocated, "allocated");
}

/// A peak measured with the samples that chose its instant is 19 % too high here.
TEST(ThinnedFates, ThePeakIsMeasuredByWhoDidNotChooseIt) {
  Errors at_peak, until_peak;
  Selection peak;
  peak.kind = Kind::kLiveAtPeak;
  for (int i = 1; i <= kRecordings; ++i) {
    const Recording recording = recorded(static_cast<std::uint64_t>(i));
    const profile::Profile profile = select(recording, peak);
    // Where the end is the peak, all samples are measured.
    if (profile.rate_factor == 1) continue;
    ASSERT_EQ(profile.rate_factor, 0.75);
    const Nanoseconds instant = profile.peak_times[0];
    at_peak.add(estimation::estimate_bytes(total(recording, profile), kLevel),
                truly_live_at(instant));
    // What was allocated up to the peak: its fates do not matter, but they chose its end.
    Selection before;
    before.to = instant;
    before.is_chosen_by_samples = true;
    until_peak.add(bytes_of(recording, before),
                   truth([&](const Allocation& one) { return one.time < instant; }));
  }
  EXPECT_GE(at_peak.all, kRecordings * 9 / 10) << "chosen among too many";
  expect_right(at_peak, "at the peak");
  expect_right(until_peak, "allocated until the peak");
}

TEST(ThinnedFates, CurvesOfLivesStandForAll) {
  constexpr double kLength = 3e7;
  const auto is_early = [](const Allocation& one) { return one.time < kMiddle; };
  const double all = truth(is_early);
  const double longer = truth([&](const Allocation& one) {
    return is_early(one) && static_cast<double>(one.free_time - one.time) > kLength;
  });
  Errors alive;
  profile::LifetimeSelection selection;
  selection.allocated_in.to = kMiddle;
  for (int i = 1; i <= kRecordings; ++i) {
    const Recording recording = recorded(static_cast<std::uint64_t>(i));
    const auto groups = lifetime_groups(recording, profile::LifetimeGrouping::kWhole, selection);
    const auto curve =
        survival_of(recording, groups.at(0).samples, profile::CurveOver::kBytes, kLevel);
    const estimation::SurvivalStep step = curve.at(kLength);
    alive.add({step.alive, 0, step.band, 0, 0}, longer / all);
  }
  // A share of two sums is biased by the inverse of the number of samples, here about 120: the
  // average may be off by a tenth of the single error at most, 2 of its standard errors.
  EXPECT_LT(std::abs(alive.z()), 6);
  EXPECT_GE(alive.coverage(), 0.95 - 4 * 0.0109);
}

}  // namespace
}  // namespace geiger::ingest
