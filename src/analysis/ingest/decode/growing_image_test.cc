#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/test_files.h"

namespace geiger::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using trace::Ref;
using trace::TestTrace;
using Progress = GrowingImage::Progress;

constexpr Nanoseconds kSecond = 1'000'000'000;

/// References of all records, of whatever type.
struct Taken {
  void on(const trace::Record& record, const auto& /*layout*/) const {
    refs.push_back(record.ref());
  }
  std::vector<Ref>& refs;
};

/// A trace that its process goes on to write, and a reader of it.
struct Growing : ::testing::Test {
  Growing() : path(files.write("t.geiger", {})), fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    epoch = trace.epoch(1024);
  }
  ~Growing() override { ::close(fd); }

  /// Overwrites the file in place.
  void write(const std::vector<std::byte>& bytes) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void write() { write(trace.bytes()); }

  Progress update(Nanoseconds now = 0, Bytes most = ~Bytes{0}) {
    taken.clear();
    Taken sink{taken};
    return image.update(now, sink, most);
  }

  TestFiles files;
  std::string path;
  int fd;
  GrowingImage image{fd};
  TestTrace trace;
  Ref epoch = 0;
  std::vector<Ref> taken;
};

TEST_F(Growing, EachRecordIsTakenOnce) {
  const Ref first = trace.sample({.epoch = epoch});
  write();
  EXPECT_EQ(update(), Progress::kCaughtUp);
  EXPECT_THAT(taken, ElementsAre(epoch, first));
  EXPECT_EQ(update(), Progress::kCaughtUp);
  EXPECT_THAT(taken, IsEmpty());
  const Ref second = trace.free(first, 3000);
  write();
  EXPECT_EQ(update(), Progress::kCaughtUp);
  EXPECT_THAT(taken, ElementsAre(second));
  EXPECT_EQ(image.records(), 3U);
  EXPECT_EQ(image.position(), trace.end());
  EXPECT_EQ(image.end(), trace.end());
}

TEST_F(Growing, WhatIsNoTraceIsUnreadableAndTheLastHeaderStays) {
  EXPECT_EQ(update(), Progress::kUnreadable);  // Empty.
  EXPECT_FALSE(image.has_header());
  EXPECT_EQ(image.position(), 0U);
  EXPECT_EQ(image.records(), 0U);
  EXPECT_EQ(image.uncommitted(), 0U);
  write();
  EXPECT_EQ(update(), Progress::kCaughtUp);
  TestTrace foreign = trace;
  foreign.header().magic[0] = 'X';
  foreign.header().pid = 7;
  write(foreign.bytes());
  EXPECT_EQ(update(), Progress::kUnreadable);
  EXPECT_TRUE(image.has_header());
  EXPECT_EQ(image.header().pid, trace.header().pid);
  trace::RecordSink sink;
  EXPECT_EQ(GrowingImage(-1).update(0, sink), Progress::kUnreadable);
}

TEST_F(Growing, DamageEndsTheReading) {
  const Ref sample = trace.sample({.epoch = epoch});
  const std::uint64_t too_deep[] = {9, 1};
  trace.append(trace::RecordType::kStack, too_deep);
  trace.sample({.epoch = epoch});
  write();
  EXPECT_EQ(update(), Progress::kUnreadable);
  EXPECT_THAT(taken, ElementsAre(epoch, sample));
}

TEST_F(Growing, AHoleIsWaitedForForASecond) {
  write();
  ASSERT_EQ(update(), Progress::kCaughtUp);
  const auto hole = trace.end();
  trace.hole(3);
  const Ref behind = trace.sample({.epoch = epoch});
  write();
  EXPECT_EQ(update(5), Progress::kCaughtUp);
  EXPECT_EQ(update(5 + kSecond - 1), Progress::kCaughtUp);
  EXPECT_THAT(taken, IsEmpty()) << "its writer may come back";
  EXPECT_EQ(image.uncommitted(), 0U);
  const std::uint64_t free[] = {trace::RecordHeader{trace::RecordType::kFree, 0, 3, 0, 0}.pack(), 9,
                                1};
  std::memcpy(trace.word_at(hole), free, sizeof free);
  write();
  EXPECT_EQ(update(5 + kSecond), Progress::kCaughtUp);
  EXPECT_THAT(taken, ElementsAre(static_cast<Ref>(hole / 8), behind));
}

TEST_F(Growing, AHoleThatStaysIsGivenUp) {
  trace.hole(3);
  const Ref behind = trace.sample({.epoch = epoch});
  write();
  EXPECT_EQ(update(0), Progress::kCaughtUp);
  EXPECT_THAT(taken, ElementsAre(epoch));
  EXPECT_EQ(update(kSecond), Progress::kCaughtUp);
  EXPECT_THAT(taken, ElementsAre(behind));
  EXPECT_EQ(image.uncommitted(), 1U);
}

TEST_F(Growing, ARecordThatIsNotWholeIsWaitedForToo) {
  const auto place = trace.end();
  trace.reserved(8);
  const Ref behind = trace.sample({.epoch = epoch});
  write();
  EXPECT_EQ(update(0), Progress::kCaughtUp);
  EXPECT_THAT(taken, ElementsAre(epoch));
  TestTrace whole;
  whole.sample({.epoch = epoch});
  std::memcpy(trace.word_at(place), whole.word_at(trace::kRecordsOffset), 64);
  write();
  EXPECT_EQ(update(1), Progress::kCaughtUp);
  EXPECT_THAT(taken, ElementsAre(static_cast<Ref>(place / 8), behind));
  EXPECT_EQ(image.uncommitted(), 0U);
  trace.reserved(8);
  write();
  EXPECT_EQ(update(kSecond), Progress::kCaughtUp);
  EXPECT_EQ(update(2 * kSecond), Progress::kCaughtUp);
  EXPECT_EQ(image.uncommitted(), 1U) << "its writer was killed";
}

TEST_F(Growing, MuchIsReadInParts) {
  constexpr std::size_t kRecords = 5000;
  for (std::size_t i = 1; i < kRecords; ++i) trace.sample({.epoch = epoch});
  write();
  std::size_t records = 0;
  int parts = 0;
  for (Progress progress = Progress::kBehind; progress == Progress::kBehind; ++parts) {
    progress = update(0, 1);
    records += taken.size();
  }
  EXPECT_EQ(records, kRecords);
  EXPECT_GE(parts, 5);
  EXPECT_EQ(image.position(), image.end());
}

TEST_F(Growing, RecordsThatChangeAreReadAgain) {
  const Ref thread = trace.thread(1, 4711, {.bytes = 1});
  write();
  ASSERT_EQ(update(), Progress::kCaughtUp);
  trace.word_at(Bytes{thread} * 8)[4] = 77;
  write();
  const auto again = image.reread(Bytes{thread} * 8);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->ref(), thread);
  EXPECT_EQ(again->as<trace::ThreadRecord>().bytes.load(), 77U);
  EXPECT_FALSE(image.reread(trace.end())) << "the file ends there";
  trace.hole(1);
  write();
  EXPECT_FALSE(image.reread(trace.end() - 8)) << "a record without a size";
  std::filesystem::resize_file(path, Bytes{thread} * 8 + 16);
  EXPECT_FALSE(image.reread(Bytes{thread} * 8)) << "cut off";
  EXPECT_FALSE(GrowingImage(-1).reread(0));
}

}  // namespace
}  // namespace geiger::ingest
