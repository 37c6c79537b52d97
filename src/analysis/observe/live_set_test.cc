#include "analysis/observe/live_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/ingest/test_files.h"
#include "trace/test_trace.h"

namespace geiger::observe {
namespace {

using ::testing::ElementsAre;
using trace::TestTrace;

constexpr Nanoseconds kNow = 5'000'000'000;
constexpr Nanoseconds kLater = kNow + 2'000'000'000;

struct Follow : ::testing::Test {
  ingest::TestFiles files;
  TestTrace trace;
  TraceFollower follower;

  /// Puts what the trace holds now where the follower reads it.
  void write() {
    if (path.empty()) path = files.path("a.geiger");
    const auto bytes = trace.bytes();
    const bool is_new = !std::filesystem::exists(path);
    if (is_new) files.write("a.geiger", {});
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (is_new) {
      std::filesystem::resize_file(path, kMiB);
      ASSERT_TRUE(follower.open(path).has_value());
    }
  }
  std::vector<Address> live(Nanoseconds now = kNow, Bytes most = kMiB) {
    write();
    is_whole = follower.follow(most, now);
    std::vector<Address> addresses;
    for (const LiveSample& sample : follower.live().by_address()) {
      addresses.push_back(sample.address);
    }
    return addresses;
  }

  std::string path;
  bool is_whole = false;
};

TEST_F(Follow, KeepsUpWithATraceThatGrows) {
  EXPECT_THAT(live(), ElementsAre());
  const auto first = trace.sample({.address = 0x9000});
  EXPECT_THAT(live(), ElementsAre(0x9000));
  trace.sample({.address = 0x7000});
  trace.free(first, 3000);
  EXPECT_THAT(live(), ElementsAre(0x7000));
  EXPECT_TRUE(is_whole);
  EXPECT_THAT(live(), ElementsAre(0x7000));
}

TEST_F(Follow, KnowsWhatASegmentBeginsWith) {
  TestTrace::Drawn drawn;
  drawn.address = 0x9000;
  const auto carried = trace.carried(drawn, 1024);
  drawn.address = 0x8000;
  trace.carried(drawn, 1034, trace::kFlagVoid);
  trace.checkpoint(1);
  EXPECT_THAT(live(), ElementsAre(0x9000));
  trace.free(carried, 3000);
  EXPECT_THAT(live(), ElementsAre());
}

TEST_F(Follow, WaitsForRecordsThatAreBeingWritten) {
  const auto sample = trace.sample({.address = 0x9000});
  trace.reserved(8);
  trace.free(sample, 3000);
  EXPECT_THAT(live(), ElementsAre(0x9000));
  EXPECT_THAT(live(), ElementsAre(0x9000));
  // Its writer was killed: the reader does not wait for ever.
  EXPECT_THAT(live(kLater), ElementsAre());
  EXPECT_TRUE(is_whole);
}

TEST_F(Follow, WaitsForHoles) {
  const auto sample = trace.sample({.address = 0x9000});
  trace.hole(8);
  trace.free(sample, 3000);
  EXPECT_THAT(live(), ElementsAre(0x9000));
  EXPECT_THAT(live(kLater), ElementsAre());
}

TEST_F(Follow, ReadsNoMoreThanItMayAtOnce) {
  for (Address i = 0; i < 8000; ++i) trace.sample({.address = 0x10000 + 0x1000 * i});
  EXPECT_LT(live(kNow, 64 * kKiB).size(), 8000U);
  EXPECT_FALSE(is_whole);
  EXPECT_EQ(live().size(), 8000U);
  EXPECT_TRUE(is_whole);
}

TEST_F(Follow, KnowsWhereTheAllocatorPutObjects) {
  const auto small = trace.sample({.address = 0x9000});
  const auto large = trace.sample({.address = 0x900000, .requested = kMiB});
  trace.free(small, 3000);
  trace.free(large, 3000);
  live();
  EXPECT_TRUE(follower.live().is_heap(0x8000, 0xa000));
  EXPECT_FALSE(follower.live().is_heap(0x9001, 0xa000));
  EXPECT_FALSE(follower.live().is_heap(0x900000, 0xa00000));
}

TEST_F(Follow, SaysWhatIsNoTrace) {
  files.write("b.geiger", std::as_bytes(std::span("nonsense", 8)));
  EXPECT_FALSE(TraceFollower().open(files.path("b.geiger")).has_value());
  EXPECT_FALSE(TraceFollower().open(files.path("nothing")).has_value());
}

TEST(Extents, AreJoinedWhereObjectsLieInOthers) {
  const std::vector<LiveSample> samples = {
      {1, 0x1000, 0x100, 0x100}, {2, 0x1010, 0x10, 0x10},      {3, 0x10f0, 0x20, 0x20},
      {4, 0x1200, 0, 0x10},      {5, ~Address{0}, 0x10, 0x10},
  };
  std::vector<std::pair<Address, Bytes>> found;
  for (const Range& range : extents_of(samples)) found.emplace_back(range.start, range.bytes);
  const std::vector<std::pair<Address, Bytes>> expected = {{0x1000, 0x110}, {0x1200, 1}};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace geiger::observe
