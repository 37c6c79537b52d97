// Traces that change while they are read, that hold what no runtime writes, or that end oddly.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>

#include "analysis/ingest/ingest.h"
#include "analysis/ingest/observation_chunk.h"
#include "analysis/ingest/seal.h"
#include "analysis/ingest/test_files.h"
#include "analysis/ingest/traces.h"

namespace geiger::ingest {
namespace {

using profile::Ending;
using profile::kNone;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::ChunkType;
using trace::Ref;
using trace::State;
using trace::TestTrace;

/// A file that is mapped as a process maps its trace, until this goes.
class MappedFile {
 public:
  MappedFile(const std::string& path, int protection, int flags)
      : bytes_(std::filesystem::file_size(path)) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    memory_ = ::mmap(nullptr, bytes_, protection, flags, descriptor, 0);
    ::close(descriptor);
    EXPECT_NE(memory_, MAP_FAILED);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() { ::munmap(memory_, bytes_); }

  void store(std::uint64_t offset, std::span<const std::byte> bytes) const {
    std::memcpy(static_cast<std::byte*>(memory_) + offset, bytes.data(), bytes.size());
  }

 private:
  std::size_t bytes_;
  void* memory_;
};

struct OddTraces : ::testing::Test {
  OddTraces() { epoch = trace.epoch(1024); }

  TestFiles files;
  TestTrace trace;
  Ref epoch = 0;

  static Ingested read(const std::string& path, const Options& options = {}) {
    const std::string paths[] = {path};
    return read_recording(paths, options);
  }
  /// As a trace that this process writes.
  std::string write_own(State state = State::kSampling) {
    trace.header().pid = static_cast<std::uint32_t>(::getpid());
    trace.header().state = state;
    return files.write("run/own.geiger", trace.bytes());
  }
  static Ending ending_of(const std::string& path) {
    return read(path).recording.processes.at(0).ending;
  }
  /// Reads a run; `meanwhile` runs once, when the first of its files has been read.
  template <typename Meanwhile>
  [[nodiscard]] Ingested read_run(const Meanwhile& meanwhile) const {
    Options options;
    bool has_run = false;
    options.progress = [&](std::uint64_t, std::uint64_t) {
      if (!std::exchange(has_run, true)) meanwhile();
    };
    return read(files.path("run"), options);
  }
};

TEST_F(OddTraces, AHoleThatIsFilledWhileItIsReadIsReadAgain) {
  constexpr std::size_t kWords = (std::size_t{600} << 10) / 8;  // More than one window.
  const auto hole = trace.end();
  trace.hole(kWords);
  const Ref behind = trace.sample({.time = 3000, .epoch = epoch});
  trace.free(behind, 4000);
  const std::string path = write_own();
  TestTrace filled;
  while (filled.end() + 64 <= trace::kRecordsOffset + kWords * 8) filled.sample({.epoch = epoch});
  const auto records = filled.raw();
  const MappedFile mapped(path, PROT_READ | PROT_WRITE, MAP_SHARED);
  const Ingested result =
      read_run([&] { mapped.store(hole, std::span(records).subspan(trace::kRecordsOffset)); });
  EXPECT_FALSE(result.damaged);
  ASSERT_EQ(result.recording.samples.size(), kWords / 8 + 1);
  EXPECT_EQ(result.recording.samples.back().free_time, 4000U);
  EXPECT_EQ(result.recording.processes[0].uncommitted, 0U);
  EXPECT_EQ(result.recording.processes[0].ending, Ending::kStillOpen);
}

TEST_F(OddTraces, AHoleThatStaysIsOneRecordThatIsMissing) {
  trace.hole(8);
  trace.sample({.epoch = epoch});
  const std::string path = write_own();
  const MappedFile mapped(path, PROT_READ | PROT_WRITE, MAP_SHARED);
  const Ingested result = read(path);
  EXPECT_EQ(result.recording.samples.size(), 1U);
  EXPECT_EQ(result.recording.processes[0].uncommitted, 1U);
}

TEST_F(OddTraces, OnlyWhoMapsAFileAsItsWriterDoesWritesIt) {
  const std::string path = write_own();
  const auto ending_with = [&](int protection, int flags) {
    const MappedFile mapped(path, protection, flags);
    return ending_of(path);
  };
  EXPECT_EQ(ending_of(path), Ending::kKilled);
  EXPECT_EQ(ending_with(PROT_READ | PROT_WRITE, MAP_SHARED), Ending::kStillOpen);
  EXPECT_EQ(ending_with(PROT_READ, MAP_SHARED), Ending::kKilled);
  EXPECT_EQ(ending_with(PROT_READ | PROT_WRITE, MAP_PRIVATE), Ending::kKilled);
  // A hard link is not mistaken for the file itself.
  const std::string other = files.path("other.geiger");
  std::filesystem::create_hard_link(path, other);
  const MappedFile mapped(other, PROT_READ | PROT_WRITE, MAP_SHARED);
  EXPECT_EQ(ending_of(path), Ending::kKilled);
  EXPECT_EQ(ending_of(other), Ending::kStillOpen);
}

TEST_F(OddTraces, EndingsAreWhatTheirProcessesSaid) {
  const std::pair<State, Ending> endings[] = {
      {State::kStarting, Ending::kStillOpen},      {State::kSampling, Ending::kStillOpen},
      {State::kOff, Ending::kStillOpen},           {State::kExited, Ending::kExited},
      {State::kContinued, Ending::kContinued},     {State::kStopped, Ending::kStopped},
      {static_cast<State>(77), Ending::kStillOpen}};
  for (const auto& [state, ending] : endings) {
    const std::string path = write_own(state);
    const MappedFile mapped(path, PROT_READ | PROT_WRITE, MAP_SHARED);
    EXPECT_EQ(ending_of(path), ending) << static_cast<int>(state);
  }
  EXPECT_EQ(ending_of(write_own(State::kOff)), Ending::kSwitchedOff);
}

TEST_F(OddTraces, WhatIsGoneOrCutWhileOthersAreReadIsDamage) {
  const std::string first = files.write("run/a.geiger", trace.bytes());
  trace.header().start_realtime = 1;
  const std::string second = files.write("run/b.geiger", trace.bytes());
  trace.header().start_realtime = 0;
  const Ingested gone = read_run([&] { std::filesystem::remove(first); });
  EXPECT_TRUE(gone.damaged);
  EXPECT_EQ(gone.recording.processes.size(), 1U);
  EXPECT_THAT(gone.recording.warnings, ElementsAre(HasSubstr("a.geiger: cannot be opened")));
  files.write("run/a.geiger", trace.bytes());
  const Ingested cut = read_run([&] { std::filesystem::resize_file(first, 100); });
  EXPECT_TRUE(cut.damaged);
  EXPECT_EQ(cut.recording.processes.size(), 1U);
  EXPECT_THAT(cut.recording.warnings, ElementsAre(HasSubstr("a.geiger: offset 0: too short")));
}

std::string observed(Nanoseconds time) {
  profile::Observations observations;
  observations.series.push_back({time, {.resident = 8192, .anonymous = 8192}, 4096});
  observations.fault = "a fault";
  observations.at_maximum.emplace();
  observations.at_maximum->time = time;
  observations.at_maximum->residency_fault = "not asked";
  observations.at_maximum->waste = {{5, 12}, {9, 13}};
  return encode_observations(observations);
}

TEST_F(OddTraces, ARunningProcessIsObservedBeforeItsTraceIsRead) {
  trace.sample({.epoch = epoch});
  const std::string path = write_own();
  const MappedFile mapped(path, PROT_READ | PROT_WRITE, MAP_SHARED);
  Options options;
  std::string asked;
  options.observe = [&](const std::string& of, std::uint32_t pid) {
    asked = of + " " + std::to_string(pid);
    return observed(5);
  };
  const Ingested result = read(path, options);
  EXPECT_EQ(asked, path + " " + std::to_string(::getpid()));
  ASSERT_EQ(result.recording.observations.size(), 1U);
  const profile::Observations& found = result.recording.observations[0];
  EXPECT_EQ(found.fault, "a fault");
  ASSERT_TRUE(found.at_maximum);
  EXPECT_EQ(found.at_maximum->residency_fault, "not asked");
  EXPECT_THAT(found.at_maximum->waste, IsEmpty()) << "of no sample there is";
  options.observe = [](const std::string&, std::uint32_t) { return std::string("\xff\xff"); };
  EXPECT_THAT(read(path, options).recording.warnings,
              ElementsAre(HasSubstr("the stored observations cannot be read")));
}

TEST_F(OddTraces, ObservationsOfSegmentsAreOneSeries) {
  std::vector<std::string> paths;
  for (std::uint32_t number = 0; number < 2; ++number) {
    TestTrace segment;
    segment.be_segment(number, 1000 + 1000 * number, 1900 + 1000 * number);
    segment.epoch(1024);
    if (number > 0) segment.checkpoint(0);
    paths.push_back(
        files.write("run/s.100." + std::to_string(number) + ".geiger", segment.bytes()));
    const ImageChunks chunks[] = {
        {0, {{ChunkType::kObservations, observed(1500 + 1000 * number)}}}};
    ASSERT_TRUE(store_chunks(paths.back(), chunks).has_value());
  }
  const Ingested both = read(files.path("run"));
  ASSERT_EQ(both.recording.observations.size(), 1U);
  EXPECT_EQ(both.recording.observations[0].series.size(), 2U);
  Options without;
  without.read_chunks = false;
  EXPECT_THAT(read(files.path("run"), without).recording.observations, IsEmpty());
}

TEST_F(OddTraces, IntervalsThatNobodyDrawsWithWeighNothing) {
  TestTrace none(0);
  none.sample({.requested = 5});
  const Ingested result = read(files.write("none.geiger", none.bytes()));
  EXPECT_THAT(result.recording.samples, IsEmpty());
  EXPECT_THAT(result.recording.warnings, ElementsAre(HasSubstr("without a known interval")));
  // Every byte is drawn at T = 1, so its rate is infinite, whatever the record says.
  const std::uint64_t finite[] = {1, 1, std::bit_cast<std::uint64_t>(700.0)};
  const Ref bent = trace.append(trace::RecordType::kEpoch, finite);
  trace.sample({.epoch = bent});
  const Ingested every = read(files.write("every.geiger", trace.bytes()));
  EXPECT_TRUE(std::isinf(every.recording.epochs.at(every.recording.samples.at(0).epoch).lambda));
  EXPECT_THAT(every.recording.warnings, ElementsAre(HasSubstr("1 intervals with a wrong rate")));
}

TEST_F(OddTraces, StacksThatDifferOnlyInTheirEndAreTwo) {
  const Ref whole = trace.stack({0x1010, 0});
  const Ref cut = trace.stack({0x1010, 0}, true);
  trace.sample({.stack = whole, .epoch = epoch});
  trace.sample({.stack = cut, .epoch = epoch});
  trace.sample({.stack = trace.stack({0x1010, 0}), .epoch = epoch});
  const profile::Recording recording = read(files.write("s.geiger", trace.bytes())).recording;
  ASSERT_EQ(recording.stacks.size(), 2U);
  EXPECT_NE(recording.samples[0].stack, recording.samples[1].stack);
  EXPECT_EQ(recording.samples[0].stack, recording.samples[2].stack);
  EXPECT_EQ(recording.locations[recording.stacks[0].locations[1]].vaddr, 0U);
}

/// Two segments of one process, the second by hand.
struct OddSegments : OddTraces {
  static TestTrace segment(std::uint32_t number) {
    TestTrace part;
    part.be_segment(number, 1000 + 1000 * number, 1900 + 1000 * number);
    return part;
  }
  std::string write(TestTrace& part) const {
    return files.write("run/s.100." + std::to_string(part.header().segment) + ".geiger",
                       part.bytes());
  }
  [[nodiscard]] profile::Recording read_all() const { return read(files.path("run")).recording; }
};

TEST_F(OddSegments, SamplesOfOtherHeapsAreCarriedOnToo) {
  TestTrace first = segment(0);
  TestTrace second = segment(1);
  const Ref in_first = first.epoch(1024);
  const Ref in_second = second.epoch(1024);
  const Ref pooled = first.sample({.time = 1100, .epoch = in_first, .address = 0x10, .heap = 3});
  const Ref other = first.sample({.time = 1200, .epoch = in_first, .address = 0x20, .heap = 3});
  const Ref again =
      second.carried({.time = 1100, .epoch = in_second, .address = 0x10, .heap = 3}, pooled);
  // Its reference names another sample: found by its birth. Twice: damage joins no strangers.
  second.carried({.time = 1200, .epoch = in_second, .address = 0x20, .heap = 3}, pooled);
  second.carried({.time = 1200, .epoch = in_second, .address = 0x999, .heap = 3}, other);
  second.checkpoint(3);
  second.free(again, 2500);
  write(first);
  write(second);
  const profile::Recording recording = read_all();
  ASSERT_EQ(recording.heap_samples.size(), 3U);
  EXPECT_EQ(recording.heap_samples[0].free_time, 2500U);
  EXPECT_EQ(recording.heap_samples[1].free_time, 0U);
  EXPECT_EQ(recording.heap_samples[2].seen_from, 2000U);
}

TEST_F(OddSegments, WhatIsCarriedMustMakeSense) {
  TestTrace second = segment(1);
  const Ref in_force = second.epoch(1024);
  second.carried({.time = 1100, .epoch = 77}, 0);        // No interval.
  second.carried({.time = 2050, .epoch = in_force}, 0);  // Recorded late, counted in the first.
  second.checkpoint(2);
  write(second);
  const profile::Recording recording = read_all();
  ASSERT_EQ(recording.samples.size(), 1U);
  EXPECT_EQ(recording.samples[0].seen_from, 2000U);
}

TEST_F(OddSegments, AllThatAreMissingInBetweenAreNamed) {
  for (const std::uint32_t number : {0U, 2U, 6U}) {
    TestTrace part = segment(number);
    part.epoch(1024);
    part.checkpoint(0);
    write(part);
  }
  EXPECT_THAT(read_all().warnings, ElementsAre(HasSubstr("pid 100: segment 1 missing"),
                                               HasSubstr("pid 100: segments 3 to 5 missing")));
}

TEST_F(OddSegments, TalliesWithoutStacksShareOneNode) {
  TestTrace counted = segment(0);
  counted.header().mode |= trace::kModeAggregated;
  const Ref in_force = counted.epoch(1024);
  counted.tally({.epoch = in_force});
  counted.tally({.epoch = in_force, .requested = 128});
  write(counted);
  const profile::Recording recording = read_all();
  ASSERT_EQ(recording.tallies.size(), 2U);
  EXPECT_EQ(recording.tallies[0].alike.stack, recording.tallies[1].alike.stack);
  EXPECT_EQ(recording.frames.size(), 1U);
}

TEST_F(OddTraces, OnlyNamesOfRunsAreRuns) {
  for (const char* name : {"geiger-x", "geiger-x.", "geiger-x.1y", "other.1", "geiger.1"}) {
    std::filesystem::create_directories(files.path(std::string("here/") + name));
  }
  files.write("here/notes.txt", {});
  EXPECT_FALSE(newest_run(files.path("here")));
  std::filesystem::create_directory_symlink(files.path("nowhere"), files.path("here/geiger-z.2"));
  EXPECT_FALSE(newest_run(files.path("here"))) << "it leads nowhere";
  files.write("here/t.geiger", {});
  EXPECT_EQ(newest_run(files.path("here")), files.path("here/t.geiger"));
}

}  // namespace
}  // namespace geiger::ingest
