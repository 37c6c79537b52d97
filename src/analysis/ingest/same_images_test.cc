#include <gmock/gmock.h>

#include <algorithm>

#include "analysis/ingest/ingest.h"
#include "analysis/profile/testing/test_recording.h"

namespace geiger::ingest {
namespace {

using profile::Recording;
using profile::TestRecording;

TestRecording run_of(int samples, std::uint32_t level = 0) {
  TestRecording test;
  const auto stack = test.stack({test.location({"main"})});
  for (int i = 0; i < samples; ++i) test.sample(stack, 16);
  test.recording.processes[0].image_start = 900;
  test.recording.processes[0].thinning = level;
  return test;
}

TEST(SameImages, AreFoundByPidBeginningSeedAndProgram) {
  const auto pairs_with = [](const auto& change) {
    Recording before = run_of(1).recording, after = run_of(1).recording;
    change(after.processes[0]);
    return match_images(before, after).size();
  };
  EXPECT_EQ(pairs_with([](profile::Process& process) { process.end = 5000; }), 1U);
  EXPECT_EQ(pairs_with([](profile::Process& process) { ++process.pid; }), 0U);
  EXPECT_EQ(pairs_with([](profile::Process& process) { ++process.image_start; }), 0U);
  EXPECT_EQ(pairs_with([](profile::Process& process) { ++process.seed; }), 0U);
  EXPECT_EQ(pairs_with([](profile::Process& process) { process.executable = "exec"; }), 0U);
  EXPECT_EQ(pairs_with([](profile::Process& process) { process.image_start = 0; }), 0U);
}

TEST(SameImages, AreMatchedOnce) {
  TestRecording before = run_of(1), after = run_of(1);
  after.recording.processes.push_back(after.recording.processes[0]);
  EXPECT_THAT(match_images(before.recording, after.recording),
              testing::ElementsAre(testing::Pair(0U, 0U)));
}

TEST(SameImages, AreReadAtTheSameLevelOfThinning) {
  TestRecording before = run_of(1000), after = run_of(1000, 2);
  ASSERT_EQ(match_images(before.recording, after.recording).size(), 1U);
  EXPECT_EQ(before.recording.processes[0].thinning, 2U);
  const auto kept =
      std::ranges::count(before.recording.samples, false, &profile::Sample::is_thinned_out);
  EXPECT_NEAR(static_cast<double>(kept), 250, 55) << "4 standard errors: 6e-5";
}

}  // namespace
}  // namespace geiger::ingest
