// What geiger writes in formats of other tools it reads back: the same values, the same intervals,
// the same samples, also where the interval changed while recording.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>
#include <string>

#include "analysis/export/heap_profilers.h"
#include "analysis/export/pprof.h"
#include "analysis/import/import.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/select/gaps.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/testing/test_recording.h"
#include "estimation/estimate.h"

namespace geiger {
namespace {

using profile::Kind;
using profile::Recording;

/// Objects of three intervals in one process, mixed within stacks and sizes: small, medium and
/// large ones, which are certain at some intervals and tried at others.
profile::TestRecording several_intervals() {
  profile::TestRecording test(4096);
  for (const double interval : {16384.0, 512.0}) {
    test.recording.epochs.push_back(
        {static_cast<Bytes>(interval), estimation::rate_of_interval(interval)});
  }
  const auto main = test.location({"main"});
  const auto parse = test.stack({test.location({"parse"}), main});
  const auto load = test.stack({test.location({"load"}), main});
  std::mt19937 generator(7);
  for (int i = 0; i < 400; ++i) {
    const auto epoch = static_cast<std::uint32_t>(generator() % 3);
    constexpr Bytes kSizes[] = {16, 600, 5000, 20000};
    const Bytes size = kSizes[generator() % 4];
    profile::Sample& sample =
        test.sample(i % 3 == 0 ? parse : load, size, 2000 + i, i % 2 == 0 ? 5000 + i : 0);
    sample.epoch = epoch;
    sample.is_certain = size >= test.recording.epochs[epoch].interval;
  }
  test.recording.threads.emplace_back();
  for (profile::Sample& sample : test.recording.samples) sample.thread = 0;
  return test;
}

Recording through_pprof(const Recording& recording) {
  std::string file;
  exports::write_pprof(recording, select(recording, Kind::kAllocated),
                       select(recording, Kind::kLiveAtEnd), {},
                       [&](std::string_view bytes) { file += bytes; });
  imports::Imported imported = imports::read_bytes(file, "round.pb.gz");
  EXPECT_TRUE(imported.errors.empty());
  return std::move(imported.recording);
}

Recording read_heaptrack(const std::string& file) {
  imports::Imported imported = imports::read_bytes(file, "round.ht");
  EXPECT_TRUE(imported.errors.empty());
  return std::move(imported.recording);
}

std::string as_heaptrack(const Recording& recording) {
  std::string file;
  exports::write_heaptrack(recording, {}, "server (estimated by geiger)",
                           [&](std::string_view bytes) { file += bytes; });
  return file;
}

void expect_alike(const estimation::Estimate& a, const estimation::Estimate& b) {
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_NEAR(a.value, b.value, 1e-6 * a.value);
  EXPECT_NEAR(a.interval.lo, b.interval.lo, 1e-4 * a.value);
  EXPECT_NEAR(a.interval.hi, b.interval.hi, 1e-4 * a.value);
  EXPECT_NEAR(a.variance, b.variance, 1e-4 * a.variance);
}

TEST(PprofRoundTrip, KeepsValuesAndIntervalsWhereTheIntervalChanged) {
  const auto test = several_intervals();
  const Recording back = through_pprof(test.recording);
  for (const Kind kind : {Kind::kAllocated, Kind::kLiveAtEnd}) {
    SCOPED_TRACE(profile::name_of(kind));
    const auto original = total(test.recording, select(test.recording, kind));
    const auto read = total(back, select(back, kind));
    expect_alike(estimation::estimate_bytes(original, 0.95),
                 estimation::estimate_bytes(read, 0.95));
    expect_alike(estimation::estimate_objects(original, 0.95),
                 estimation::estimate_objects(read, 0.95));
    EXPECT_NEAR(original.largest_interval, read.largest_interval, 1e-6 * read.largest_interval);
    EXPECT_EQ(original.certain_samples, read.certain_samples);
  }
}

TEST(PprofRoundTrip, KeepsEveryFunction) {
  const auto test = several_intervals();
  const Recording back = through_pprof(test.recording);
  const auto original =
      table(test.recording, select(test.recording, Kind::kAllocated), profile::GroupBy::kFunction);
  const auto read = table(back, select(back, Kind::kAllocated), profile::GroupBy::kFunction);
  ASSERT_EQ(original.size(), read.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    expect_alike(estimation::estimate_bytes(original[i].self, 0.95),
                 estimation::estimate_bytes(read[i].self, 0.95));
  }
}

TEST(PprofRoundTrip, KeepsLabels) {
  auto test = several_intervals();
  test.recording.labels = {
      {"request", profile::kNone}, {"tenant=acme", 0}, {"tenant=zeta", profile::kNone}};
  for (std::size_t i = 0; i < test.recording.samples.size(); ++i) {
    const std::uint32_t label = i % 4;
    test.recording.samples[i].label = label == 3 ? profile::kNone : label;
  }
  const Recording back = through_pprof(test.recording);
  const auto bytes_by_label = [](const Recording& recording) {
    std::map<std::string, double> bytes;
    for (const profile::Row& row :
         table(recording, select(recording, Kind::kAllocated), profile::GroupBy::kLabel)) {
      bytes[row.name] = estimation::estimate_bytes(row.self, 0.95).value;
    }
    return bytes;
  };
  const auto original = bytes_by_label(test.recording);
  const auto read = bytes_by_label(back);
  ASSERT_EQ(original.size(), 4U);
  ASSERT_EQ(read.size(), 4U);
  for (const auto& [name, bytes] : original) {
    ASSERT_TRUE(read.contains(name)) << name;
    EXPECT_NEAR(read.at(name), bytes, 1e-6 * bytes + 2) << name;
  }
}

TEST(PprofRoundTrip, NothingReadBackWasCounted) {
  const Recording back = through_pprof(several_intervals().recording);
  ASSERT_EQ(back.processes.size(), 1U);
  EXPECT_TRUE(back.processes[0].is_imported);
}

void expect_alike(const Recording& original, const Recording& read, Kind kind) {
  SCOPED_TRACE(profile::name_of(kind));
  const auto sums = total(original, select(original, kind));
  const auto back = total(read, select(read, kind));
  expect_alike(estimation::estimate_bytes(sums, 0.95), estimation::estimate_bytes(back, 0.95));
  expect_alike(estimation::estimate_objects(sums, 0.95), estimation::estimate_objects(back, 0.95));
  EXPECT_EQ(sums.certain_samples, back.certain_samples);
  EXPECT_NEAR(sums.largest_interval, back.largest_interval, 1e-6 * back.largest_interval);
}

TEST(HeaptrackRoundTrip, KeepsSamplesAndTheirWeights) {
  const auto test = several_intervals();
  const Recording back = read_heaptrack(as_heaptrack(test.recording));
  EXPECT_FALSE(profile::is_any_without_errors(back));
  EXPECT_FALSE(profile::is_counted(back));
  EXPECT_EQ(back.samples.size(), test.recording.samples.size());
  expect_alike(test.recording, back, Kind::kAllocated);
  expect_alike(test.recording, back, Kind::kLiveAtEnd);
}

TEST(HeaptrackRoundTrip, KeepsWhatWasOnlyCounted) {
  auto test = several_intervals();
  Recording& recording = test.recording;
  recording.processes[0].is_aggregated = true;
  for (const profile::Sample& sample : recording.samples) {
    profile::Tally tally;
    tally.alike = sample;
    tally.alike.free_time = 0;
    tally.allocated = 3;
    tally.freed = sample.free_time != 0 ? 2 : 0;
    recording.tallies.push_back(tally);
  }
  recording.samples.clear();
  const Recording back = read_heaptrack(as_heaptrack(recording));
  EXPECT_TRUE(back.samples.empty());
  expect_alike(recording, back, Kind::kAllocated);
  expect_alike(recording, back, Kind::kLiveAtEnd);
}

TEST(HeaptrackRoundTrip, OfThinnedFatesIsAsWide) {
  auto test = several_intervals();
  test.recording.processes[0].thinning = 1;
  std::mt19937 generator(11);
  for (profile::Sample& sample : test.recording.samples) {
    sample.is_thinned_out = generator() % 2 == 0;
  }
  const Recording back = read_heaptrack(as_heaptrack(test.recording));
  const auto sums = total(test.recording, select(test.recording, Kind::kLiveAtEnd));
  const auto read = total(back, select(back, Kind::kLiveAtEnd));
  EXPECT_NEAR(read.weighted_bytes, sums.weighted_bytes, 1e-6 * sums.weighted_bytes);
  EXPECT_NEAR(read.bytes_variance, sums.bytes_variance, 1e-6 * sums.bytes_variance);
  EXPECT_EQ(read.certain_bytes, 0);
}

// A filter that leaves comments out leaves values whose errors are not known.
TEST(HeaptrackRoundTrip, WithoutTheSamplesItsErrorsAreNotKnown) {
  std::istringstream lines(as_heaptrack(several_intervals().recording));
  std::string bare;
  for (std::string line; std::getline(lines, line);) {
    if (line[0] != '#') bare += line + "\n";
  }
  const Recording back = read_heaptrack(bare);
  EXPECT_TRUE(profile::is_any_without_errors(back));
  // Nor once it is written again, in whichever format.
  EXPECT_TRUE(profile::is_any_without_errors(read_heaptrack(as_heaptrack(back))));
  EXPECT_TRUE(profile::is_any_without_errors(through_pprof(back)));
}

}  // namespace
}  // namespace geiger
