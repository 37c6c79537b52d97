#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "trace/reader.h"
#include "trace/test_trace.h"

namespace geiger::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Windows of a trace in memory, of at most `most` bytes.
struct Windows {
  [[nodiscard]] std::span<const std::byte> window(std::uint64_t offset) {
    const auto words = std::min<std::uint64_t>(trace.end() - offset, most) / 8;
    copy.assign(trace.word_at(offset), trace.word_at(offset) + words);
    if (behind_our_back) std::exchange(behind_our_back, nullptr)();
    return std::as_bytes(std::span(copy));
  }
  [[nodiscard]] bool is_zero(std::uint64_t offset, std::uint64_t bytes) {
    ++questions;
    const std::uint64_t* const first = trace.word_at(offset);
    return !lies && std::all_of(first, first + bytes / 8, [](auto word) { return word == 0; });
  }

  TestTrace& trace;
  std::uint64_t most = kMiB;
  std::function<void()> behind_our_back = nullptr;  ///< Called once, after a window was read.
  bool lies = false;
  int questions = 0;
  std::vector<std::uint64_t> copy = {};
};

/// References of all records of any type.
struct Taken {
  void on(const Record& record, const auto& /*layout*/) { refs.push_back(record.ref()); }
  std::vector<Ref> refs;
};

struct Walk : ::testing::Test {
  Progress run(bool is_live, Wait wait, Bytes most = kMaxCapacity) {
    ImageExtent extent;
    const auto page = trace.bytes();
    EXPECT_EQ(read_header(page, page.size(), extent).fault, Fault::kNone);
    if (walk) walk->extend(extent);
    if (!walk) walk.emplace(extent, is_live);
    const auto waits = [&](std::uint64_t offset) {
      waited_at.push_back(offset);
      return wait;
    };
    return walk->run(windows, waits, taken, most);
  }
  /// Writes a free into the hole at `offset`.
  void fill(std::uint64_t offset) {
    const std::uint64_t free[] = {RecordHeader{RecordType::kFree, 0, 3, 0, 0}.pack(), 9, 1};
    std::memcpy(trace.word_at(offset), free, sizeof free);
  }

  TestTrace trace;
  Windows windows{trace};
  std::optional<RecordWalk> walk;
  Taken taken;
  std::vector<std::uint64_t> waited_at;
};

TEST_F(Walk, NobodyIsWaitedForInAFinishedImage) {
  const Ref epoch = trace.epoch(1024);
  trace.hole(3);
  trace.reserved(8);
  const Ref sample = trace.sample({.epoch = epoch});
  EXPECT_EQ(run(false, Wait::kComeBack), Progress::kCaughtUp);
  EXPECT_THAT(taken.refs, ElementsAre(epoch, sample));
  EXPECT_THAT(waited_at, IsEmpty());
  EXPECT_EQ(windows.questions, 0);
  EXPECT_EQ(walk->reader().uncommitted(), 2U);
}

TEST_F(Walk, ComesBackToWhatIsNotWhole) {
  const Ref epoch = trace.epoch(1024);
  const auto hole = trace.end();
  trace.hole(3);
  const auto reserved = trace.end();
  trace.reserved(8);
  EXPECT_EQ(run(true, Wait::kComeBack), Progress::kCaughtUp);
  EXPECT_EQ(run(true, Wait::kComeBack), Progress::kCaughtUp);
  EXPECT_THAT(taken.refs, ElementsAre(epoch));
  fill(hole);
  EXPECT_EQ(run(true, Wait::kComeBack), Progress::kCaughtUp);
  EXPECT_THAT(taken.refs, ElementsAre(epoch, hole / 8));
  EXPECT_EQ(run(true, Wait::kGiveUp), Progress::kCaughtUp);
  EXPECT_THAT(waited_at, ElementsAre(hole, hole, reserved, reserved));
  EXPECT_EQ(walk->reader().uncommitted(), 1U);
}

TEST_F(Walk, LooksAgainAtAHoleThatIsFilledWhileItIsRead) {
  const auto hole = trace.end();
  trace.hole(3);
  const Ref behind = trace.epoch(1024);
  windows.behind_our_back = [&] { fill(hole); };
  EXPECT_EQ(run(true, Wait::kGiveUp), Progress::kCaughtUp);
  EXPECT_THAT(taken.refs, ElementsAre(hole / 8, behind));
  EXPECT_EQ(walk->reader().uncommitted(), 0U);
}

TEST_F(Walk, AWindowThatBeginsInAFilledHoleIsNoBoundary) {
  const auto hole = trace.end();
  trace.hole(3);
  const Ref behind = trace.epoch(1024);
  windows.most = 16;
  EXPECT_EQ(run(true, Wait::kGiveUp, 16), Progress::kBehind);
  fill(hole);
  windows.most = kMiB;
  EXPECT_EQ(run(true, Wait::kGiveUp), Progress::kCaughtUp);
  EXPECT_THAT(taken.refs, ElementsAre(hole / 8, behind));
}

TEST_F(Walk, LooksAgainAtAHoleOnlySoOften) {
  trace.hole(3);
  const Ref behind = trace.epoch(1024);
  windows.lies = true;
  EXPECT_EQ(run(true, Wait::kGiveUp), Progress::kCaughtUp);
  EXPECT_THAT(taken.refs, ElementsAre(behind));
}

TEST_F(Walk, SaysWhatCannotBeRead) {
  const Ref epoch = trace.epoch(1024);
  trace.append(RecordType::kStack, std::vector<std::uint64_t>{9, 1});
  trace.epoch(1024);
  EXPECT_EQ(run(true, Wait::kGiveUp), Progress::kUnreadable);
  EXPECT_EQ(run(true, Wait::kGiveUp), Progress::kUnreadable);
  EXPECT_THAT(taken.refs, ElementsAre(epoch));
}

TEST(RecordSink, EveryKnownTypeHasAStructure) {
  for (int type = 1; type <= static_cast<int>(RecordType::kMaxKnown); ++type) {
    std::size_t bytes = 0;
    with_layout(static_cast<RecordType>(type),
                [&](auto layout) { bytes = sizeof(typename decltype(layout)::type); });
    EXPECT_GE(bytes, 16U) << type;
  }
}

/// Overloads for two types.
struct Two : RecordSink {
  using RecordSink::on;
  void on(const Record&, const EpochRecord& epoch) { interval = epoch.interval; }
  void on(const Record& record, const CarriedRecord&) { carried.push_back(record.ref()); }
  Bytes interval = 0;
  std::vector<Ref> carried;
};

TEST(RecordSink, GetsWhatItCaresAboutAndNothingVoid) {
  TestTrace trace;
  trace.stack({0x1010});
  trace.epoch(512);
  trace.carried({}, 1024, kFlagVoid);
  const Ref carried = trace.carried({}, 1034);
  const auto bytes = trace.bytes();
  ImageExtent extent;
  ASSERT_EQ(read_header(bytes, bytes.size(), extent).fault, Fault::kNone);
  Windows windows{trace};
  Two sink;
  RecordWalk walk(extent, false);
  EXPECT_EQ(walk.run(
                windows, [](auto) { return Wait::kGiveUp; }, sink),
            Progress::kCaughtUp);
  EXPECT_EQ(sink.interval, 512U);
  EXPECT_THAT(sink.carried, ElementsAre(carried));
}

}  // namespace
}  // namespace geiger::trace
