// Segments of one process image, read as one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "analysis/ingest/ingest.h"
#include "analysis/ingest/seal.h"
#include "analysis/ingest/test_files.h"
#include "analysis/ingest/traces.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/totals.h"
#include "trace/test_trace.h"

namespace geiger::ingest {
namespace {

using profile::Ending;
using profile::kNone;
using profile::Sample;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::Ref;
using trace::State;
using trace::TestTrace;

/// What every segment writes again before it names it.
struct Opened : TestTrace {
  Ref in_force = 0, caller = 0;

  Opened(std::uint32_t number, std::uint64_t start, std::uint64_t stop,
         State state = State::kContinued) {
    be_segment(number, start, stop, state);
    in_force = epoch(1024, start);
    // Each segment has the same location, at a reference of its own.
    for (std::uint32_t i = 0; i < number; ++i) hole(3);
    module("/lib/libx.so", "\x12\xab", 0x1000, 0x2000, 0x1000);
    caller = stack({0x1010});
  }

  Drawn drawn(std::uint64_t time, Address address) const {
    Drawn drawn;
    drawn.time = time;
    drawn.stack = caller;
    drawn.epoch = in_force;
    drawn.address = address;
    drawn.thread = 1;
    return drawn;
  }
};

/// Four samples of one thread over three segments: one freed where it was born, one
/// in the next segment, one between two segments, one never. A fifth is of the last.
struct ThreeSegments {
  Opened first{0, 1000, 2000}, second{1, 2010, 3000}, third{2, 3010, 4000, State::kExited};

  ThreeSegments() {
    first.thread(1, 4711, {.bytes = 1000, .trials = 900, .hits = 4, .armed = 50, .calls = 4});
    const Ref born = first.sample(first.drawn(1100, 0x10));
    const Ref next = first.sample(first.drawn(1200, 0x20));
    const Ref between = first.sample(first.drawn(1300, 0x30));
    const Ref never = first.sample(first.drawn(1400, 0x40));
    first.free(born, 1500, 0, 1);

    second.thread(1, 4711, {.armed = 3}, trace::kFlagCarriedThread);
    const Ref next_again = second.carried(second.drawn(1200, 0x20), next);
    const Ref between_again = second.carried(second.drawn(1300, 0x30), between);
    const Ref never_again = second.carried(second.drawn(1400, 0x40), never);
    second.checkpoint(3, 0, 2010);
    second.thread(2, 4712, {.bytes = 10, .trials = 10, .armed = 7});
    second.free(next_again, 2500, 0, 2);
    static_cast<void>(between_again);

    third.thread(1, 4711, {.bytes = 500, .trials = 400, .hits = 1, .pending = 9, .calls = 1});
    third.carried(third.drawn(1400, 0x40), never_again);
    third.carried(third.drawn(1300, 0x30), 12345, trace::kFlagVoid);
    third.checkpoint(1, 0, 3010);
    third.sample(third.drawn(3500, 0x10));
  }
};

struct Segments : ::testing::Test {
  TestFiles files;
  ThreeSegments three;

  std::string write(TestTrace& trace, std::uint32_t number) const {
    return files.write("run/target.100." + std::to_string(number) + ".geiger", trace.bytes());
  }
  void write_all() {
    write(three.first, 0);
    write(three.second, 1);
    write(three.third, 2);
  }
  [[nodiscard]] Ingested read_run() const {
    const std::string paths[] = {files.path("run")};
    return read_recording(paths);
  }
};

TEST_F(Segments, AreOneProcess) {
  write_all();
  const Ingested result = read_run();
  EXPECT_FALSE(result.damaged);
  EXPECT_THAT(result.recording.warnings, IsEmpty());
  ASSERT_EQ(result.recording.processes.size(), 1U);
  const profile::Process& process = result.recording.processes[0];
  EXPECT_EQ(process.start, 1000U);
  EXPECT_EQ(process.end, 4000U);
  EXPECT_EQ(process.ending, Ending::kExited);
  ASSERT_EQ(process.segments.size(), 3U);
  EXPECT_EQ(process.segments[1].number, 1U);
  EXPECT_EQ(process.segments[1].end, 3000U);
  EXPECT_FALSE(process.misses_beginning());
  EXPECT_FALSE(process.has_gap());
  ASSERT_EQ(result.places.size(), 3U);
  EXPECT_FALSE(result.places[0].is_last);
  EXPECT_TRUE(result.places[2].is_last);
}

TEST_F(Segments, ASampleThatIsCarriedOnIsOneSample) {
  write_all();
  const Ingested result = read_run();
  const auto& samples = result.recording.samples;
  ASSERT_EQ(samples.size(), 5U);
  EXPECT_EQ(samples[0].free_time, 1500U);
  EXPECT_EQ(samples[1].free_time, 2500U);
  EXPECT_EQ(samples[1].free_thread, 1U);
  EXPECT_FALSE(samples[1].free_unseen);
  EXPECT_EQ(samples[2].free_time, 3000U) << "not carried into the third segment";
  EXPECT_FALSE(samples[2].free_unseen) << "no fault";
  EXPECT_EQ(samples[2].free_thread, kNone);
  EXPECT_EQ(samples[3].free_time, 0U);
  for (const Sample& sample : samples) {
    EXPECT_EQ(sample.stack, 0U);
    EXPECT_EQ(sample.thread, 0U);
    EXPECT_TRUE(is_allocation_seen(sample));
  }
}

// Its writer took longer than the second segment, so that one's checkpoint does not name it.
TEST_F(Segments, ASampleThatSkippedASegmentIsOneSample) {
  Opened first{0, 1000, 2000}, second{1, 2010, 3000}, third{2, 3010, 4000}, last{3, 4010, 5000};
  first.sample(first.drawn(1100, 0x10));
  first.sample(first.drawn(1200, 0x20));
  second.checkpoint(0, 0, 2010);
  third.checkpoint(0, 0, 3010);
  third.carried(third.drawn(1100, 0x10), 0);
  const Ref again = last.carried(last.drawn(1200, 0x20), 0);
  last.checkpoint(1, 0, 4010);
  last.free(again, 4500, 0, 1);
  write(first, 0);
  write(second, 1);
  write(third, 2);
  write(last, 3);
  const Ingested result = read_run();
  const auto& samples = result.recording.samples;
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].free_time, 4000U) << "between the last two segments";
  EXPECT_EQ(samples[1].free_time, 4500U);
  EXPECT_TRUE(is_allocation_seen(samples[1]));
}

TEST_F(Segments, AddUpWhatThreadsCounted) {
  write_all();
  const Ingested result = read_run();
  const auto& threads = result.recording.threads;
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_EQ(threads[0].bytes, 1509U);
  EXPECT_EQ(threads[0].trials, 1309U);
  EXPECT_EQ(threads[0].hits, 5U);
  EXPECT_EQ(threads[0].slow_calls, 5U);
  EXPECT_EQ(threads[0].armed, 0U) << "that of the last segment";
  EXPECT_EQ(threads[1].armed, 7U);
}

// The next segment begins before the one before it ends: what passes in both counts once.
TEST_F(Segments, AddUpProcessorTime) {
  const auto set = [](TestTrace& trace, Nanoseconds from, Nanoseconds to) {
    trace.header().start_processor_time = from;
    trace.header().stop_processor_time = to;
  };
  const auto read = [&] {
    write_all();
    return profile::processor_time_of(read_run().recording);
  };
  EXPECT_FALSE(read().is_known()) << "of an older runtime";
  set(three.first, 50, 300);
  set(three.second, 280, 500);
  set(three.third, 520, 600);
  EXPECT_EQ(read().used, 530U);
  EXPECT_FALSE(read().is_least);
  set(three.third, 520, 0);
  EXPECT_EQ(read().used, 450U) << "killed";
  EXPECT_TRUE(read().is_least);
}

TEST_F(Segments, ASuffixReadsAlone) {
  write(three.second, 1);
  write(three.third, 2);
  const Ingested result = read_run();
  EXPECT_FALSE(result.damaged);
  EXPECT_THAT(result.recording.warnings, IsEmpty());
  ASSERT_EQ(result.recording.processes.size(), 1U);
  EXPECT_TRUE(result.recording.processes[0].misses_beginning());
  EXPECT_EQ(result.recording.processes[0].start, 2010U);
  const auto& samples = result.recording.samples;
  ASSERT_EQ(samples.size(), 4U);
  EXPECT_EQ(samples[0].time, 1200U);
  EXPECT_EQ(samples[0].seen_from, 2010U);
  EXPECT_EQ(samples[0].free_time, 2500U);
  EXPECT_EQ(samples[2].seen_from, 2010U);
  EXPECT_EQ(samples[2].free_time, 0U);
  EXPECT_EQ(samples[3].seen_from, 0U);
  EXPECT_EQ(result.recording.threads[0].bytes, 509U);
}

TEST_F(Segments, AGapJoinsWhatLivedOnBothSides) {
  write(three.first, 0);
  write(three.third, 2);
  const Ingested result = read_run();
  ASSERT_EQ(result.recording.processes.size(), 1U);
  EXPECT_TRUE(result.recording.processes[0].has_gap());
  ASSERT_EQ(result.recording.warnings.size(), 1U);
  EXPECT_THAT(result.recording.warnings[0], HasSubstr("segment 1 missing"));
  const auto& samples = result.recording.samples;
  ASSERT_EQ(samples.size(), 5U);
  EXPECT_EQ(samples[1].free_time, 2000U);
  EXPECT_EQ(samples[2].free_time, 2000U);
  EXPECT_EQ(samples[3].free_time, 0U) << "the same before and behind the gap";
  EXPECT_TRUE(is_allocation_seen(samples[3]));
}

TEST_F(Segments, FilesMayComeInAnyOrder) {
  write_all();
  const std::string paths[] = {files.path("run/target.100.2.geiger"),
                               files.path("run/target.100.0.geiger"),
                               files.path("run/target.100.1.geiger")};
  const Ingested result = read_recording(paths);
  ASSERT_EQ(result.recording.processes.size(), 1U);
  EXPECT_EQ(result.recording.samples.size(), 5U);
  EXPECT_EQ(result.recording.samples[1].free_time, 2500U);
}

TEST_F(Segments, CopiesOfAProcessAreOneProcess) {
  // Read as two, both heaps would add up, with an interval as of independent samples.
  Opened growing(0, 1000, 0, State::kSampling);
  growing.sample(growing.drawn(1100, 0x10));
  const std::string early = files.write("early.geiger", growing.bytes());
  growing.sample(growing.drawn(1200, 0x20));
  const std::string late = files.write("late.geiger", growing.bytes());
  for (const auto& paths : {std::array{early, late}, std::array{late, early}}) {
    const Ingested result = read_recording(paths);
    EXPECT_EQ(result.recording.processes.size(), 1U);
    EXPECT_EQ(result.recording.samples.size(), 2U);
    ASSERT_EQ(result.recording.warnings.size(), 1U);
    EXPECT_THAT(result.recording.warnings[0], HasSubstr("early.geiger: left out"));
    EXPECT_FALSE(result.damaged);
  }
}

TEST_F(Segments, OthersOfTheSamePidStayApart) {
  write(three.first, 0);
  Opened other(1, 2010, 3000);
  other.header().image_start = 999;
  write(other, 1);
  EXPECT_EQ(read_run().recording.processes.size(), 2U);
}

TEST_F(Segments, ACheckpointThatWasCutOffFreesNothing) {
  write(three.first, 0);
  Opened second(1, 2010, 0, State::kSampling);
  second.carried(second.drawn(1400, 0x40), 1);
  write(second, 1);
  const Ingested result = read_run();
  ASSERT_EQ(result.recording.samples.size(), 4U);
  EXPECT_EQ(result.recording.samples[2].free_time, 0U);
  EXPECT_EQ(result.recording.processes[0].ending, Ending::kKilled);
  EXPECT_FALSE(result.recording.processes[0].segments[1].is_complete);
  ASSERT_EQ(result.recording.warnings.size(), 1U);
  EXPECT_THAT(result.recording.warnings[0], HasSubstr("checkpoint of segment 1 was cut off"));
}

TEST_F(Segments, OneThatHasNoHeaderYetIsNoDamage) {
  Opened alone(0, 1000, 0, State::kSampling);
  write(alone, 0);
  for (const std::size_t bytes : {0U, 8192U}) {
    files.write("run/target.100.1.geiger", std::vector<std::byte>(bytes));
    const Ingested result = read_run();
    EXPECT_FALSE(result.damaged);
    EXPECT_EQ(result.recording.processes.size(), 1U);
    EXPECT_THAT(result.recording.warnings, IsEmpty());
  }
}

TEST_F(Segments, AFileWithoutAHeaderIsAProcessOfItsOwnBehindOneThatHasEndedOrOfAnother) {
  Opened ended(0, 1000, 2000, State::kExited);
  write(ended, 0);
  files.write("run/target.100.1.geiger", std::vector<std::byte>(8192));
  EXPECT_THAT(read_run().unbegun, ElementsAre(Unbegun{"target.100.1.geiger", true}));
  Opened going_on(0, 1000, 0, State::kSampling);
  write(going_on, 0);
  EXPECT_THAT(read_run().unbegun, IsEmpty());
  files.write("run/target.101.0.geiger", {});
  const Ingested result = read_run();
  EXPECT_FALSE(result.damaged);
  EXPECT_THAT(result.unbegun, ElementsAre(Unbegun{"target.101.0.geiger", false}));
  EXPECT_THAT(result.recording.warnings, ElementsAre(HasSubstr("target, pid 101: not recorded")));
}

TEST_F(Segments, RecordsBehindALostHeaderAreDamage) {
  Opened whole(0, 1000, 2000, State::kExited);
  write(whole, 0);
  std::vector<std::byte> headless(trace::kRecordsOffset + 64);
  headless[trace::kRecordsOffset] = std::byte{1};
  files.write("run/target.101.0.geiger", headless);
  const Ingested result = read_run();
  EXPECT_TRUE(result.damaged);
  EXPECT_THAT(result.unbegun, IsEmpty());
}

TEST_F(Segments, ASampleMayBeCarriedBehindTheCheckpoint) {
  write(three.first, 0);
  Opened second(1, 2010, 3000, State::kExited);
  second.checkpoint(0, 0, 2010);
  const Ref late = second.carried(second.drawn(1400, 0x40), 0);
  second.free(late, 2700, 0, 1);
  write(second, 1);
  const Ingested result = read_run();
  ASSERT_EQ(result.recording.samples.size(), 4U);
  EXPECT_EQ(result.recording.samples[3].free_time, 2700U);
  EXPECT_EQ(result.recording.samples[2].free_time, 2000U);
}

TEST_F(Segments, ReferencesToStrangersJoinNothing) {
  const Ref born = 8192 / 8;  // No sample is there.
  write(three.first, 0);
  Opened second(1, 2010, 3000, State::kExited);
  second.carried(second.drawn(1234, 0x99), born);
  second.checkpoint(1, 2, 2010);
  write(second, 1);
  const Ingested result = read_run();
  ASSERT_EQ(result.recording.samples.size(), 5U);
  EXPECT_EQ(result.recording.samples[4].seen_from, 2010U);
  EXPECT_THAT(result.recording.warnings[0], HasSubstr("no room for 2 samples"));
}

TEST_F(Segments, StayReadableInOneFile) {
  write_all();
  const std::string parts[] = {files.path("run/target.100.0.geiger"),
                               files.path("run/target.100.1.geiger"),
                               files.path("run/target.100.2.geiger")};
  const std::string packed = files.path("packed.geiger");
  ASSERT_TRUE(pack_images(parts, packed, false).has_value());
  const std::string paths[] = {packed};
  const Ingested result = read_recording(paths);
  EXPECT_FALSE(result.damaged);
  ASSERT_EQ(result.recording.processes.size(), 1U);
  EXPECT_EQ(result.recording.samples.size(), 5U);
  EXPECT_EQ(result.recording.processes[0].segments.size(), 3U);
}

TEST_F(Segments, ADeletedFileIsSkippedIfALaterOneIsThere) {
  const std::string gone = write(three.first, 0);
  const std::string there = write(three.second, 1);
  const ProcessImage images = {{gone, 0, 0, 0, true}, {there, 0, 0, 1, true}};
  SegmentFiles segments(images);
  std::filesystem::remove(gone);
  ASSERT_NE(segments.next(), nullptr);
  EXPECT_TRUE(segments.opened().failure().is_missing);
  std::filesystem::remove(there);  // Open already: rotation cannot take it away any more.
  ASSERT_NE(segments.next(), nullptr);
  EXPECT_TRUE(segments.opened().has_value());
  EXPECT_EQ(segments.next(), nullptr);
}

TEST_F(Segments, AFileThatTheUserNamedMustBeThere) {
  const std::string gone = write(three.first, 0);
  const std::string there = write(three.second, 1);
  std::filesystem::remove(gone);
  const std::string paths[] = {gone, there};
  const Ingested result = read_recording(paths);
  EXPECT_TRUE(result.damaged);
  EXPECT_EQ(result.recording.processes.size(), 1U);
}

TEST_F(Segments, ThinnedOutSamplesAreMarked) {
  Opened first(0, 1000, 2000);
  for (std::uint64_t i = 0; i < 1000; ++i) first.sample(first.drawn(1100 + i, 0x1000 + 16 * i));
  first.thinning(1, 1900);
  write(first, 0);
  Opened second(1, 2010, 3000, State::kExited);
  second.thinning(2, 2010);
  second.checkpoint(0, 0, 2010);
  write(second, 1);
  const Ingested result = read_run();
  EXPECT_EQ(result.recording.processes[0].thinning, 2U);
  EXPECT_EQ(result.recording.processes[0].keep(), 0.25);
  const auto kept = std::ranges::count(result.recording.samples, false, &Sample::is_thinned_out);
  // Binomial(1000, 1/4): 250 +- 13.7; 5 sigma. The chances are fixed by seed 7.
  EXPECT_NEAR(static_cast<double>(kept), 250, 5 * 13.7);
  trace::SampleRecord record{};
  for (const Sample& sample : result.recording.samples) {
    record.time = sample.time;
    record.address = sample.address;
    EXPECT_EQ(sample.is_thinned_out, !trace::is_kept(trace::chance_of(7, record), 2));
  }
}

TEST_F(Segments, NoLevelIsTooHigh) {
  three.third.thinning(0xffffffff, 3500);
  write(three.third, 2);
  const profile::Process process = read_run().recording.processes[0];
  EXPECT_EQ(process.thinning, profile::kMostThinning);
  EXPECT_GT(process.keep(), 0);
}

// What is live is what the tracked half says, each standing for two; allocated is all.
TEST_F(Segments, UntrackedTalliesSayWhatWasAllocatedOnly) {
  Opened counted(0, 1000, 2000, State::kExited);
  counted.header().mode |= trace::kModeAggregated;
  counted.thinning(1);
  counted.tally({.stack = counted.caller,
                 .epoch = counted.in_force,
                 .allocated = 10,
                 .freed = 4,
                 .is_certain = true});
  counted.tally({.stack = counted.caller,
                 .epoch = counted.in_force,
                 .allocated = 9,
                 .is_certain = true,
                 .is_tracked = false});
  write(counted, 0);
  const profile::Recording recording = read_run().recording;
  const auto bytes = [&](profile::Kind kind) {
    const estimation::NodeSums sums = total(recording, select(recording, kind));
    return sums.all_bytes();
  };
  EXPECT_EQ(bytes(profile::Kind::kAllocated), 19 * 64);
  EXPECT_EQ(bytes(profile::Kind::kLiveAtEnd), 6 * 2 * 64);
}

TEST_F(Segments, TalliesAreCountedNotListed) {
  Opened counted(0, 1000, 2000, State::kExited);
  counted.header().mode |= trace::kModeAggregated | trace::kModeAttached;
  counted.tally({.stack = counted.caller, .epoch = counted.in_force, .allocated = 10, .freed = 4});
  counted.tally({.epoch = counted.in_force, .allocated = 3, .freed = 5, .is_certain = true});
  counted.tally({.epoch = counted.in_force, .requested = 0});
  write(counted, 0);
  const Ingested result = read_run();
  const profile::Recording& recording = result.recording;
  EXPECT_TRUE(recording.processes[0].is_aggregated);
  EXPECT_TRUE(recording.processes[0].is_attached);
  EXPECT_THAT(recording.samples, IsEmpty());
  ASSERT_EQ(recording.tallies.size(), 3U);
  EXPECT_EQ(recording.tallies[2].alike.requested, 0U) << "objects of 0 bytes are samples too";
  EXPECT_EQ(recording.tallies[0].allocated, 10U);
  EXPECT_EQ(recording.tallies[0].freed, 4U);
  EXPECT_EQ(recording.tallies[0].alike.requested, 64U);
  EXPECT_TRUE(recording.tallies[1].alike.is_certain);
  EXPECT_EQ(recording.tallies[1].freed, 3U) << "never more than was allocated";
  ASSERT_NE(recording.tallies[1].alike.stack, kNone);
  const profile::Stack& untold = recording.stacks[recording.tallies[1].alike.stack];
  const auto& frames = recording.locations[untold.locations[0]].frames;
  EXPECT_EQ(recording.frames[frames[0]].function, profile::kUntoldStacks);
  EXPECT_EQ(recording.warnings.size(), 1U);
}

}  // namespace
}  // namespace geiger::ingest
