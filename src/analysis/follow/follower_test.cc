// A picture of a trace that grew must be what reading the whole trace gives.
#include "analysis/follow/follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "analysis/ingest/ingest.h"
#include "analysis/ingest/test_files.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/recording/cut.h"
#include "analysis/profile/select/profile.h"
#include "analysis/symbolize/symbolize.h"
#include "trace/test_trace.h"

namespace geiger::follow {
namespace {

using profile::GroupBy;
using profile::Kind;
using profile::Recording;
using trace::Ref;
using trace::State;
using trace::TestTrace;

constexpr Nanoseconds kNow = 1'000'000;

struct Followed : ::testing::Test {
  ingest::TestFiles files;
  Follower follower;

  /// Overwrites the trace in place, as its process does: readers that have it open see it.
  std::string write(TestTrace& trace, const std::string& name) const {
    const std::string path = files.path(name);
    if (!std::filesystem::exists(path)) return files.write(name, trace.bytes());
    const auto bytes = trace.bytes();
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  void look() {
    follower.add_all_in(files.path("run"), "run", std::nullopt);
    EXPECT_TRUE(follower.update(kNow));
  }

  [[nodiscard]] Recording read_whole() const {
    const std::string paths[] = {files.path("run")};
    Recording recording = ingest::read_recording(paths).recording;
    symbolize::symbolize(recording, {});
    profile::trim(recording, symbolize::leading_runtime_frames);
    return recording;
  }

  static void expect_same(const Recording& picture, const Recording& whole) {
    for (const Kind kind : {Kind::kAllocated, Kind::kLiveAtEnd}) {
      const auto ours = profile::select(picture, kind);
      const auto theirs = profile::select(whole, kind);
      const auto total = profile::total(picture, ours);
      const auto expected_total = profile::total(whole, theirs);
      EXPECT_EQ(total.samples, expected_total.samples) << name_of(kind);
      EXPECT_EQ(total.weighted_bytes, expected_total.weighted_bytes) << name_of(kind);
      EXPECT_TRUE(total == expected_total) << name_of(kind);
      for (const GroupBy by : {GroupBy::kFunction, GroupBy::kStack, GroupBy::kThread,
                               GroupBy::kSize, GroupBy::kLabel, GroupBy::kType}) {
        const auto rows = profile::table(picture, ours, by);
        const auto expected = profile::table(whole, theirs, by);
        ASSERT_EQ(rows.size(), expected.size()) << name_of(kind) << static_cast<int>(by);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          EXPECT_EQ(rows[i].name, expected[i].name);
          EXPECT_TRUE(rows[i].self == expected[i].self) << rows[i].name;
          EXPECT_TRUE(rows[i].total == expected[i].total) << rows[i].name;
        }
      }
    }
  }

  void expect_same_as_whole() {
    ASSERT_TRUE(follower.await_names(NamesOf::kAllModules, std::chrono::minutes(5)));
    expect_same(follower.picture(), read_whole());
  }
};

/// Samples and frees of two threads at three places, in a fixed random order.
class Growing {
 public:
  explicit Growing(TestTrace& trace) : trace_(trace) {
    trace_.header().state = State::kSampling;
    trace_.header().stop_monotonic = 0;
    epoch_ = trace_.epoch(1024);
    trace_.module("/lib/libx.so", "\x12\xab", 0x1000, 0x2000, 0x1000);
    for (const Address address : {0x1010, 0x1020, 0x1030})
      stacks_.push_back(trace_.stack({address}));
    trace_.thread(1, 4711, {.bytes = 1000, .trials = 900, .hits = 4, .armed = 50, .calls = 4});
    trace_.thread_name(1, "first");
    label_ = trace_.name(trace::NameKind::kLabel, 0, "tenant=acme");
    type_ = trace_.name(trace::NameKind::kType, 0, "Buffer");
  }

  void grow(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

 private:
  void step() {
    ++time_;
    if (!live_.empty() && generator_() % 3 == 0) {
      const std::size_t at = generator_() % live_.size();
      trace_.free(live_[at], time_, 0, 1);
      live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
    TestTrace::Drawn drawn;
    drawn.time = time_;
    drawn.stack = stacks_[generator_() % stacks_.size()];
    drawn.epoch = epoch_;
    drawn.requested = 16 + generator_() % 40 * 8;
    drawn.address = 0x5000 + time_ * 64;
    drawn.thread = 1 + generator_() % 2;
    drawn.label = generator_() % 2 == 0 ? label_ : 0;
    drawn.type = generator_() % 2 == 0 ? type_ : 0;
    live_.push_back(trace_.sample(drawn));
  }

  TestTrace& trace_;
  Ref epoch_ = 0, label_ = 0, type_ = 0;
  std::vector<Ref> stacks_, live_;
  std::uint64_t time_ = 2000;
  std::mt19937_64 generator_{7};
};

TEST_F(Followed, IsWhatReadingTheWholeGives) {
  TestTrace trace;
  Growing growing(trace);
  for (int look = 0; look < 5; ++look) {
    growing.grow(200);
    write(trace, "run/target.100.0.geiger");
    this->look();
    expect_same_as_whole();
  }
  EXPECT_EQ(follower.processes()[0].pid, 100U);
  EXPECT_EQ(follower.picture().threads[0].name, "first");
}

/// By all processes.
std::uint64_t records_read(Follower& follower) {
  std::uint64_t records = 0;
  for (const profile::Process& process : follower.picture().processes) records += process.records;
  return records;
}

TEST_F(Followed, ReadsEachRecordOnce) {
  TestTrace trace;
  Growing growing(trace);
  growing.grow(300);
  write(trace, "run/target.100.0.geiger");
  look();
  const std::uint64_t records = records_read(follower);
  const Bytes position = follower.position();
  look();
  EXPECT_EQ(records_read(follower), records) << "nothing is new";
  EXPECT_EQ(follower.position(), position);
  growing.grow(10);
  write(trace, "run/target.100.0.geiger");
  look();
  EXPECT_EQ(records_read(follower), records + 10);
}

TEST_F(Followed, ReadsNoMoreThanItMay) {
  TestTrace trace;
  Growing growing(trace);
  growing.grow(6000);  // Several windows of 64 KiB.
  write(trace, "run/target.100.0.geiger");
  follower.add_all_in(files.path("run"), "run", std::nullopt);
  int looks = 1;
  while (!follower.update(kNow, 1)) ++looks;
  EXPECT_GT(looks, 3);
  expect_same_as_whole();
}

TEST_F(Followed, WaitsForWhatIsNotWrittenYet) {
  TestTrace trace;
  Growing growing(trace);
  growing.grow(50);
  const std::uint64_t hole = trace.end();
  trace.hole(8);
  growing.grow(50);
  write(trace, "run/target.100.0.geiger");
  look();
  EXPECT_EQ(follower.position(), hole);
  constexpr Nanoseconds kLater = 2'000'000'000;
  EXPECT_TRUE(follower.update(kNow + kLater)) << "the thread that reserved it is gone";
  EXPECT_EQ(follower.position(), trace.end());
  expect_same_as_whole();
}

/// Two segments of one image, and a sample to write into the first.
TestTrace::Drawn begin_two_segments(TestTrace& first, TestTrace& second) {
  first.be_segment(0, 1000, 2000, State::kContinued);
  second.be_segment(1, 2010, 3000, State::kExited);
  TestTrace::Drawn drawn;
  drawn.epoch = first.epoch(1024, 1000);
  drawn.stack = first.stack({0x1010});
  drawn.time = 1100;
  drawn.address = 0x10;
  return drawn;
}

/// A sample of the first segment that lives on in the second, one that ends in between.
TEST_F(Followed, GoesOnInTheNextSegment) {
  TestTrace first, second;
  TestTrace::Drawn drawn = begin_two_segments(first, second);
  const Ref lives = first.sample(drawn);
  drawn.time = 1200;
  drawn.address = 0x20;
  first.sample(drawn);
  drawn.epoch = second.epoch(1024, 2010);
  second.stack({0x1020});  // The same place at another reference.
  drawn.stack = second.stack({0x1010});
  drawn.time = 1100;
  drawn.address = 0x10;
  const Ref again = second.carried(drawn, lives);
  second.checkpoint(1, 0, 2010);
  drawn.time = 2500;
  drawn.address = 0x30;
  second.sample(drawn);
  write(first, "run/target.100.0.geiger");
  look();
  EXPECT_FALSE(follower.has_ended());
  write(second, "run/target.100.1.geiger");
  look();
  expect_same_as_whole();
  EXPECT_EQ(follower.processes().size(), 1U);
  EXPECT_TRUE(follower.has_ended());
  second.free(again, 2600);
  write(second, "run/target.100.1.geiger");
  look();
  expect_same_as_whole();
  Follower late;
  late.add_all_in(files.path("run"), "run", std::nullopt);
  EXPECT_TRUE(late.update(kNow)) << "both in one update";
  EXPECT_EQ(records_read(late), records_read(follower));
}

/// By a slow path that took longer than a whole segment, so that nothing refers to its record.
TEST_F(Followed, ASampleMayBeCarriedBehindTheCheckpoint) {
  TestTrace first, second;
  TestTrace::Drawn drawn = begin_two_segments(first, second);
  first.sample(drawn);
  drawn.epoch = second.epoch(1024, 2010);
  drawn.stack = second.stack({0x1010});
  second.checkpoint(0, 0, 2010);
  const Ref late = second.carried(drawn, 0);
  write(first, "run/target.100.0.geiger");
  write(second, "run/target.100.1.geiger");
  look();
  expect_same_as_whole();
  second.free(late, 2600);
  write(second, "run/target.100.1.geiger");
  look();
  expect_same_as_whole();
}

TEST_F(Followed, ASampleMayBeCarriedPastASegment) {
  TestTrace first, second, third;
  TestTrace::Drawn drawn = begin_two_segments(first, second);
  first.sample(drawn);
  drawn.address = 0x20;
  first.sample(drawn);
  second.be_segment(1, 2010, 3000, State::kContinued);
  second.checkpoint(0, 0, 2010);
  third.be_segment(2, 3010, 4000, State::kExited);
  third.checkpoint(0, 0, 3010);
  drawn.epoch = third.epoch(1024, 3010);
  drawn.stack = third.stack({0x1010});
  const Ref late = third.carried(drawn, 0);
  write(first, "run/target.100.0.geiger");
  write(second, "run/target.100.1.geiger");
  look();
  expect_same_as_whole();
  write(third, "run/target.100.2.geiger");
  look();
  expect_same_as_whole();
  EXPECT_EQ(read_whole().samples.size(), 2U);
  third.free(late, 3600);
  write(third, "run/target.100.2.geiger");
  look();
  expect_same_as_whole();
}

/// A follower that begins at a later segment knows what lived before, but does not count it as
/// allocated.
TEST_F(Followed, BeginsInALaterSegment) {
  TestTrace second;
  second.be_segment(1, 2010, 3000, State::kExited);
  TestTrace::Drawn drawn;
  drawn.epoch = second.epoch(1024, 2010);
  drawn.stack = second.stack({0x1010});
  drawn.time = 1100;
  second.carried(drawn, 1234);
  second.checkpoint(1, 0, 2010);
  write(second, "run/target.100.1.geiger");
  look();
  expect_same_as_whole();
  const Recording picture = follower.picture();
  EXPECT_EQ(profile::total(picture, profile::select(picture, Kind::kAllocated)).samples, 0U);
  EXPECT_EQ(profile::total(picture, profile::select(picture, Kind::kLiveAtEnd)).samples, 1U);
}

TEST_F(Followed, ThinsAsTheRuntimeDoes) {
  TestTrace trace;
  Growing growing(trace);
  growing.grow(400);
  trace.thinning(1, 2500);
  growing.grow(400);
  trace.thinning(3, 3000);
  growing.grow(400);
  write(trace, "run/target.100.0.geiger");
  look();
  expect_same_as_whole();
}

TEST_F(Followed, SeesTalliesChange) {
  TestTrace trace;
  trace.header().mode = trace::kModeAggregated;
  TestTrace::Tallied tallied;
  tallied.epoch = trace.epoch(1024);
  tallied.stack = trace.stack({0x1010});
  tallied.allocated = 7;
  const Ref tally = trace.tally(tallied);
  write(trace, "run/target.100.0.geiger");
  look();
  expect_same_as_whole();
  EXPECT_TRUE(follower.has_aggregated());
  *trace.word_at(tally * 8 + offsetof(trace::TallyRecord, freed)) = 5;
  *trace.word_at(tally * 8 + offsetof(trace::TallyRecord, allocated)) = 9;
  write(trace, "run/target.100.0.geiger");
  look();
  expect_same_as_whole();
}

/// How samples of a trace that is being written are drawn, of one stack.
TestTrace::Drawn drawn_in(TestTrace& trace, Bytes interval) {
  trace.header().state = State::kSampling;
  TestTrace::Drawn drawn;
  drawn.epoch = trace.epoch(interval);
  drawn.stack = trace.stack({0x1010});
  return drawn;
}

TEST_F(Followed, TellsAStretchOfTime) {
  TestTrace trace;
  TestTrace::Drawn drawn = drawn_in(trace, 1);
  drawn.is_certain = true;
  drawn.requested = 1000;
  const Ref before = trace.sample(drawn);
  write(trace, "run/target.100.0.geiger");
  look();
  const Baseline baseline = follower.baseline();
  trace.free(before, 2100);
  drawn.time = 2200;
  const Ref freed = trace.sample(drawn);
  trace.sample(drawn);
  trace.free(freed, 2300);
  write(trace, "run/target.100.0.geiger");
  look();
  const Recording since = follower.picture_since(baseline);
  EXPECT_EQ(profile::total(since, profile::select(since, Kind::kAllocated)).certain_bytes, 2000);
  EXPECT_EQ(profile::total(since, profile::select(since, Kind::kLiveAtEnd)).certain_bytes, 1000);
}

TEST_F(Followed, TellsWhatCameAndWhatWent) {
  TestTrace trace;
  TestTrace::Drawn drawn = drawn_in(trace, 1);
  drawn.is_certain = true;
  drawn.requested = 1000;
  const Ref goes = trace.sample(drawn);
  trace.sample(drawn);  // Lives at both instants.
  write(trace, "run/target.100.0.geiger");
  look();
  const Baseline baseline = follower.baseline();
  EXPECT_EQ(baseline.live, std::vector<std::uint64_t>{2});
  trace.free(goes, 2100);
  drawn.time = 2200;
  const Ref between = trace.sample(drawn);
  for (int i = 0; i < 3; ++i) trace.sample(drawn);
  trace.free(between, 2300);  // Lives at neither.
  drawn.requested = 50;
  trace.sample(drawn);
  write(trace, "run/target.100.0.geiger");
  look();
  ASSERT_TRUE(follower.can_compare(baseline));
  const Change change = follower.change_since(baseline);
  EXPECT_EQ(change.came, (std::vector<std::uint64_t>{3, 1}));
  EXPECT_EQ(change.went, (std::vector<std::uint64_t>{1, 0}));
}

TEST_F(Followed, TellsNoChangeOverAThinning) {
  TestTrace trace;
  TestTrace::Drawn drawn = drawn_in(trace, 1024);
  for (int i = 0; i < 20; ++i) trace.sample(drawn);
  write(trace, "run/target.100.0.geiger");
  look();
  const Baseline before = follower.baseline();
  trace.thinning(1, 2000);
  write(trace, "run/target.100.0.geiger");
  look();
  EXPECT_FALSE(follower.can_compare(before));
  EXPECT_TRUE(follower.can_compare(follower.baseline()));
}

TEST_F(Followed, ReadsOnlyTheProcessThatItIsTold) {
  TestTrace mine, older, others;
  mine.be_segment(0, 5000, 0, State::kSampling, 5000);
  older.be_segment(0, 1000, 2000, State::kExited, 1000);
  others.be_segment(0, 6000, 0, State::kSampling, 6000);
  others.header().pid = 101;
  write(mine, "run/mine.geiger");
  write(older, "run/older.geiger");
  write(others, "run/others.geiger");
  follower.add_all_in(files.path("run"), "run", OnlyProcess{100, 5000});
  EXPECT_TRUE(follower.update(kNow));
  const Recording picture = follower.picture();
  ASSERT_EQ(picture.processes.size(), 1U);
  EXPECT_EQ(picture.processes[0].start, 5000U);
}

TEST_F(Followed, TakesNothingFromWhatIsNoTrace) {
  files.write("run/cut.geiger", std::as_bytes(std::span("GEIGER")));
  files.write("run/empty.geiger", {});
  look();
  EXPECT_TRUE(follower.is_empty());
  EXPECT_TRUE(follower.picture().processes.empty());
}

}  // namespace
}  // namespace geiger::follow
