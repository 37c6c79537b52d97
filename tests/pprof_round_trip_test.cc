// What geiger writes as pprof it reads back: the same values, the same intervals, the same samples,
// also where the interval changed while recording.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "analysis/export/pprof.h"
#include "analysis/import/import.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/profile.h"
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

}  // namespace
}  // namespace geiger
