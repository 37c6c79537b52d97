#include "trace/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string_view>

#include "trace/test_trace.h"

namespace geiger::trace {
namespace {

using ::testing::ElementsAre;

struct Outcome {
  TraceError error;
  std::vector<std::uint64_t> offsets;  ///< Of the committed records.
  std::uint64_t uncommitted = 0;
  std::uint64_t unknown = 0;
  std::uint64_t steps = 0;
};

/// Reads a whole image through windows of `window` bytes.
Outcome read(std::span<const std::byte> image, std::size_t window = std::size_t{1} << 20) {
  Outcome outcome;
  ImageExtent extent;
  outcome.error = read_header(image, image.size(), extent);
  if (outcome.error.fault != Fault::kNone) return outcome;
  RecordReader reader(extent);
  while (!reader.is_done()) {
    reader.feed(
        image.subspan(reader.position(), std::min(window, image.size() - reader.position())));
    for (Step step = reader.next(); step != Step::kWindow; step = reader.next()) {
      if (step == Step::kRecord) outcome.offsets.push_back(reader.record().offset);
      ++outcome.steps;
    }
  }
  outcome.error = reader.error();
  outcome.uncommitted = reader.uncommitted();
  outcome.unknown = reader.unknown();
  return outcome;
}

/// One record of every type, with a hole and a reserved record in between.
TestTrace small_trace() {
  TestTrace trace;
  const Ref epoch = trace.epoch(1024);
  trace.thread(1, 4711, {.bytes = 4096, .trials = 4000, .hits = 2});
  trace.module("/lib/libx.so", "\x12\x34", 0x1000, 0x2000, 0);
  const Ref stack = trace.stack({0x1010, 0x1020, 0x1030});
  const Ref sample = trace.sample({.stack = stack, .epoch = epoch, .thread = 1});
  trace.hole(8);
  trace.sample({.stack = stack, .epoch = epoch, .thread = 1});
  trace.reserved(5);
  trace.free(sample, 3000);
  trace.thread_name(1, "worker");
  return trace;
}

/// small_trace() with records that the API writes.
TestTrace talkative_trace() {
  TestTrace trace = small_trace();
  const Ref request = trace.name(NameKind::kLabel, 0, "request");
  const Ref tenant = trace.name(NameKind::kLabel, request, "tenant=acme");
  const Ref type = trace.name(NameKind::kType, 0, "Order");
  trace.name(NameKind::kHeap, 3, "pool");
  trace.mark("warm", 2100, 1);
  const Ref sample = trace.sample({.thread = 1, .label = tenant, .type = type, .heap = 3});
  trace.mapping({.kind = MappingKind::kRemap, .old_address = 0x1000, .old_bytes = 4096});
  trace.utilization(sample, 4096, 1024);
  trace.residency(sample, 512);
  return trace;
}

TEST(ReadHeader, AcceptsASoundHeader) {
  TestTrace trace = small_trace();
  const auto image = trace.bytes();
  ImageExtent extent;
  EXPECT_EQ(read_header(image, image.size(), extent).fault, Fault::kNone);
  EXPECT_EQ(extent.records_end, image.size());
  EXPECT_EQ(extent.size, image.size());
  EXPECT_TRUE(extent.is_last);
  EXPECT_FALSE(extent.is_cut);
}

TEST(ReadHeader, NamesWhatIsWrong) {
  ImageExtent extent;
  const auto fault_of = [&](TestTrace& trace) {
    const auto image = trace.raw();
    return read_header(image, image.size(), extent);
  };
  TestTrace foreign;
  foreign.header().magic[0] = 'X';
  EXPECT_EQ(fault_of(foreign).fault, Fault::kForeign);
  TestTrace blank;
  std::memset(blank.header().magic, 0, 8);
  EXPECT_EQ(fault_of(blank).fault, Fault::kBlank);
  TestTrace future;
  future.header().version = 7;
  EXPECT_EQ(fault_of(future).fault, Fault::kOtherVersion);
  EXPECT_EQ(fault_of(future).found, 7U);
  TestTrace huge;
  huge.header().capacity = kMaxCapacity + 8;
  EXPECT_EQ(fault_of(huge).fault, Fault::kBadHeaderSize);
  TestTrace bent_tail;
  bent_tail.header().tail = kRecordsOffset + 3;
  EXPECT_EQ(fault_of(bent_tail).fault, Fault::kBadHeaderSize);
  EXPECT_EQ(fault_of(bent_tail).offset, offsetof(FileHeader, tail));
  TestTrace bad_seal;
  bad_seal.header().sealed_end = 16;
  EXPECT_EQ(fault_of(bad_seal).fault, Fault::kBadHeaderSize);
  TestTrace bad_image;
  bad_image.header().image_bytes = 8192;
  EXPECT_EQ(fault_of(bad_image).fault, Fault::kBadHeaderSize);
  TestTrace odd_image;
  odd_image.header().sealed_end = odd_image.end();
  odd_image.header().image_bytes = odd_image.end() + 4;
  EXPECT_EQ(fault_of(odd_image).offset, offsetof(FileHeader, image_bytes));
  odd_image.header().image_bytes = odd_image.end() - 8;
  EXPECT_EQ(fault_of(odd_image).found, odd_image.end() - 8);
  EXPECT_EQ(read_header({}, 0, extent).fault, Fault::kTooShort);
  EXPECT_EQ(read_header(TestTrace().raw(), 100, extent).found, 100U);
}

TEST(ReadHeader, EveryFaultHasItsOwnWords) {
  std::set<std::string_view> reasons;
  constexpr int kFaults = static_cast<int>(Fault::kEpochValues) + 1;
  for (int fault = 0; fault < kFaults; ++fault)
    reasons.insert(reason_of(static_cast<Fault>(fault)));
  EXPECT_EQ(reasons.size(), std::size_t{kFaults});
  EXPECT_FALSE(reasons.contains(reason_of(static_cast<Fault>(kFaults))));
}

TEST(ReadHeader, TakesATraceThatHasJustStarted) {
  TestTrace trace;
  trace.header().tail = 0;
  trace.header().state = State::kStarting;
  const Outcome outcome = read(trace.raw());
  EXPECT_EQ(outcome.error.fault, Fault::kNone);
  EXPECT_TRUE(outcome.offsets.empty());
}

TEST(RecordReader, DeliversEveryCommittedRecord) {
  const Outcome outcome = read(small_trace().bytes());
  EXPECT_EQ(outcome.error.fault, Fault::kNone);
  EXPECT_EQ(outcome.offsets.size(), 8U);
  EXPECT_EQ(outcome.uncommitted, 2U);
}

TEST(RecordReader, WindowsOfAnySizeGiveTheSame) {
  const auto image = small_trace().bytes();
  const Outcome whole = read(image);
  for (std::size_t window = 104; window <= 512; window += 8) {
    const Outcome outcome = read(image, window);
    EXPECT_EQ(outcome.offsets, whole.offsets) << window;
    EXPECT_EQ(outcome.uncommitted, whole.uncommitted) << window;
  }
}

TEST(RecordReader, DecodesTypes) {
  TestTrace trace = small_trace();
  const auto image = trace.bytes();
  ImageExtent extent;
  ASSERT_EQ(read_header(image, image.size(), extent).fault, Fault::kNone);
  RecordReader reader(extent);
  reader.feed(std::span(image).subspan(kRecordsOffset));
  while (reader.next() == Step::kRecord) {
    const Record& record = reader.record();
    if (record.header.type == RecordType::kModule) {
      EXPECT_EQ(path_of(record), "/lib/libx.so");
      EXPECT_THAT(build_id_of(record), ElementsAre(0x12, 0x34));
    }
    if (record.header.type == RecordType::kStack) {
      EXPECT_THAT(frames_of(record), ElementsAre(0x1010, 0x1020, 0x1030));
    }
    if (record.header.type == RecordType::kSample) {
      EXPECT_EQ(record.as<SampleRecord>().requested(), 64U);
    }
  }
  EXPECT_FALSE(reader.has_failed());
}

TEST(RecordReader, DecodesWhatProgramsSay) {
  const auto image = talkative_trace().bytes();
  ImageExtent extent;
  ASSERT_EQ(read_header(image, image.size(), extent).fault, Fault::kNone);
  RecordReader reader(extent);
  reader.feed(std::span(image).subspan(kRecordsOffset));
  std::vector<std::string> texts;
  for (Step step = reader.next(); step != Step::kWindow; step = reader.next()) {
    if (step != Step::kRecord) continue;
    const Record& record = reader.record();
    const bool has_text =
        record.header.type == RecordType::kName || record.header.type == RecordType::kMark;
    if (has_text) texts.emplace_back(text_of(record));
    if (record.header.type == RecordType::kMapping) {
      EXPECT_EQ(record.as<MappingRecord>().kind, MappingKind::kRemap);
      EXPECT_EQ(record.as<MappingRecord>().old_bytes, 4096U);
      EXPECT_EQ(record.as<MappingRecord>().flags, 0x22U);
    }
    if (record.header.type == RecordType::kUtilization) {
      EXPECT_EQ(record.as<UtilizationRecord>().free_bytes, 1024U);
    }
    if (record.header.type == RecordType::kResidency) {
      EXPECT_EQ(record.as<ResidencyRecord>().resident_bytes, 512U);
    }
  }
  EXPECT_EQ(reader.error().fault, Fault::kNone);
  EXPECT_EQ(reader.committed(), 17U);
  EXPECT_THAT(texts, ElementsAre("request", "tenant=acme", "Order", "pool", "warm"));
}

TEST(RecordReader, ATailPastTheCapacityIsClamped) {
  TestTrace trace = small_trace();
  trace.hole(2);
  trace.header().capacity = trace.end();
  trace.header().tail = trace.end() + 4096;
  const Outcome outcome = read(trace.raw());
  EXPECT_EQ(outcome.error.fault, Fault::kNone);
  EXPECT_EQ(outcome.offsets.size(), 8U);
  EXPECT_EQ(outcome.uncommitted, 2U) << "the rest below the capacity is a drop, not a record";
}

TEST(RecordReader, ACutAnywhereKeepsThePrefix) {
  const auto image = small_trace().bytes();
  const Outcome whole = read(image);
  std::size_t before = 0;
  for (std::size_t size = 0; size < image.size(); ++size) {
    const Outcome outcome = read(std::span(image).first(size));
    ASSERT_NE(outcome.error.fault, Fault::kNone) << size;
    ASSERT_GE(outcome.offsets.size(), before) << size;
    ASSERT_LE(outcome.offsets.size(), whole.offsets.size());
    ASSERT_TRUE(std::equal(outcome.offsets.begin(), outcome.offsets.end(), whole.offsets.begin()));
    if (size >= kControlOffset) {
      ASSERT_EQ(outcome.error.fault, Fault::kCut) << size;
    }
    before = outcome.offsets.size();
  }
  EXPECT_EQ(before, whole.offsets.size() - 1) << "only the last record is missing by one byte";
}

TEST(RecordReader, DamageEndsTheReadingAndSaysWhere) {
  const auto outcome_with = [](RecordType type, const std::vector<std::uint64_t>& body) {
    TestTrace trace = small_trace();
    trace.append(type, body);
    trace.thread_name(1, "behind");
    return read(trace.bytes());
  };
  const std::uint64_t place = small_trace().bytes().size();
  const auto expect = [&](const Outcome& outcome, Fault fault) {
    EXPECT_EQ(outcome.error.fault, fault);
    EXPECT_EQ(outcome.error.offset, place);
    EXPECT_EQ(outcome.offsets.size(), 8U);
  };
  expect(outcome_with(RecordType::kStack, {4, 1, 2, 3}), Fault::kStackCount);
  expect(outcome_with(RecordType::kStack, {~0ULL, 1}), Fault::kStackCount);
  expect(outcome_with(RecordType::kModule, {1, 2, 3, 4, ~0ULL, 0}), Fault::kModuleText);
  expect(outcome_with(RecordType::kModule, {1, 2, 3, 4, 0, 0}), Fault::kModuleText);
  expect(outcome_with(RecordType::kSample, {1, 2}), Fault::kTooSmall);
  expect(outcome_with(RecordType::kThread, {1, 2}), Fault::kTooSmall);
  expect(outcome_with(RecordType::kNone, {1, 2}), Fault::kNoType);
  expect(outcome_with(RecordType::kEpoch, {1, 0, 0x3ff0000000000000}), Fault::kEpochValues);
  expect(outcome_with(RecordType::kEpoch, {1, 512, 0x7ff8000000000000}), Fault::kEpochValues);
  expect(outcome_with(RecordType::kName, {1, 9, 0}), Fault::kText);
  expect(outcome_with(RecordType::kName, {1, 0xffffffff, 0}), Fault::kText);
  expect(outcome_with(RecordType::kName, {1}), Fault::kTooSmall);
  expect(outcome_with(RecordType::kMark, {5, 1}), Fault::kText);
  expect(outcome_with(RecordType::kMark, {5, 0xffffffff, 0, 0}), Fault::kText);
  expect(outcome_with(RecordType::kMark, {5}), Fault::kTooSmall);
  expect(outcome_with(RecordType::kMapping, {1, 2, 3, 4, 5, 6}), Fault::kTooSmall);
  expect(outcome_with(RecordType::kUtilization, {1, 2, 3}), Fault::kTooSmall);
  expect(outcome_with(RecordType::kResidency, {1, 2}), Fault::kTooSmall);
}

TEST(RecordReader, SizesOutOfPlaceAreDamage) {
  TestTrace sizeless = small_trace();
  sizeless.hole(1);
  *sizeless.word_at(sizeless.end() - 8) = RecordHeader{RecordType::kFree, 0, 0, 0, 0}.pack();
  EXPECT_EQ(read(sizeless.bytes()).error.fault, Fault::kNoSize);
  TestTrace longer = small_trace();
  longer.hole(1);
  *longer.word_at(longer.end() - 8) = RecordHeader{RecordType::kFree, 0, 3, 0, 0}.pack();
  EXPECT_EQ(read(longer.bytes()).error.fault, Fault::kPastEnd);
}

TEST(RecordReader, SkipsAndCountsTypesOfTheFuture) {
  TestTrace trace = small_trace();
  const std::uint64_t body[] = {1, 2, 3};
  trace.append(static_cast<RecordType>(99), body);
  trace.thread_name(1, "behind");
  const Outcome outcome = read(trace.bytes());
  EXPECT_EQ(outcome.error.fault, Fault::kNone);
  EXPECT_EQ(outcome.unknown, 1U);
  EXPECT_EQ(outcome.offsets.size(), 9U);
}

TEST(RecordReader, ACutTraceThatWasSealedStillTells) {
  TestTrace trace = small_trace();
  trace.header().tail = trace.end() + 64;
  trace.header().sealed_end = trace.end();
  const Outcome outcome = read(trace.raw());
  EXPECT_EQ(outcome.error.fault, Fault::kCut);
  EXPECT_EQ(outcome.offsets.size(), 8U);
}

TEST(RecordReader, AHoleCanBeReadAgain) {
  TestTrace trace = small_trace();
  trace.hole(4);
  auto image = trace.bytes();
  ImageExtent extent;
  ASSERT_EQ(read_header(image, image.size(), extent).fault, Fault::kNone);
  RecordReader reader(extent);
  const std::uint64_t hole = image.size() - 32;
  reader.feed(std::span(image).subspan(kRecordsOffset));
  Step step = reader.next();
  while (step != Step::kWindow && (step != Step::kHole || reader.hole().offset != hole)) {
    step = reader.next();
  }
  ASSERT_EQ(step, Step::kHole);
  EXPECT_EQ(reader.hole().bytes, 32U);
  const std::uint64_t name[] = {RecordHeader{RecordType::kThreadName, 0, 4, 0, 1}.pack(), 5, 6, 7};
  std::memcpy(&image[hole], name, sizeof name);
  reader.retry_hole();
  reader.feed(std::span(image).subspan(hole));
  EXPECT_EQ(reader.next(), Step::kRecord);
  EXPECT_EQ(reader.record().offset, hole);
  EXPECT_EQ(reader.next(), Step::kWindow);
  EXPECT_TRUE(reader.is_done());
  EXPECT_EQ(reader.uncommitted(), 2U);
}

TEST(RecordReader, AReservedRecordCanBeReadAgainAndTheTraceGoOn) {
  TestTrace trace = small_trace();
  const std::uint64_t place = trace.end();
  trace.reserved(8);
  auto image = trace.bytes();
  ImageExtent extent;
  ASSERT_EQ(read_header(image, image.size(), extent).fault, Fault::kNone);
  RecordReader reader(extent);
  const auto feed = [&] { reader.feed(std::span(image).subspan(reader.position())); };
  const auto step_at_end = [&] {
    Step last = Step::kWindow;
    for (Step step = reader.next(); step != Step::kWindow; step = reader.next()) last = step;
    return last;
  };
  feed();
  EXPECT_EQ(step_at_end(), Step::kPending);
  EXPECT_TRUE(reader.is_done());
  EXPECT_EQ(reader.uncommitted(), 3U);
  reader.retry_reserved();
  EXPECT_EQ(reader.position(), place);
  EXPECT_EQ(reader.uncommitted(), 2U);
  // Written by now, with another record after it.
  TestTrace whole;
  whole.sample({});
  std::memcpy(trace.word_at(place), whole.word_at(kRecordsOffset), 64);
  trace.thread_name(1, "behind");
  image = trace.bytes();
  ASSERT_EQ(read_header(image, image.size(), extent).fault, Fault::kNone);
  reader.extend(extent);
  EXPECT_FALSE(reader.is_done());
  feed();
  EXPECT_EQ(step_at_end(), Step::kRecord);
  EXPECT_TRUE(reader.is_done());
  EXPECT_EQ(reader.record().header.type, RecordType::kThreadName);
  EXPECT_EQ(reader.committed(), 10U);
}

TEST(RecordReader, TheHoleBelowTheCapacityIsNoRecordHoweverOftenItIsRead) {
  TestTrace trace;
  trace.hole(2);
  trace.header().capacity = trace.end();
  trace.header().tail = trace.end() + 4096;
  const auto image = trace.raw();
  ImageExtent extent;
  ASSERT_EQ(read_header(image, image.size(), extent).fault, Fault::kNone);
  RecordReader reader(extent);
  for (int i = 0; i < 3; ++i) {
    reader.feed(std::span(image).subspan(kRecordsOffset));
    ASSERT_EQ(reader.next(), Step::kHole);
    EXPECT_EQ(reader.uncommitted(), 0U);
    reader.retry_hole();
  }
}

TEST(RecordReader, NothingComesBehindAFault) {
  TestTrace trace;
  const std::uint64_t too_deep[] = {9, 1};
  trace.append(RecordType::kStack, too_deep);
  const auto image = trace.bytes();
  ImageExtent extent;
  ASSERT_EQ(read_header(image, image.size(), extent).fault, Fault::kNone);
  RecordReader reader(extent);
  reader.feed(std::span(image).subspan(kRecordsOffset));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(reader.next(), Step::kWindow);
  EXPECT_EQ(reader.error().fault, Fault::kStackCount);
  EXPECT_TRUE(reader.is_done());
}

TEST(Thinning, KeepsWhatTheLevelSays) {
  EXPECT_TRUE(is_kept(~std::uint64_t{0}, 0));
  EXPECT_FALSE(is_kept(~std::uint64_t{0}, 1));
  EXPECT_TRUE(is_kept(~std::uint64_t{0} >> 1, 1));
  EXPECT_TRUE(is_kept(1, 63));
  EXPECT_FALSE(is_kept(2, 63));
  EXPECT_FALSE(is_kept(0, 64)) << "nothing is as rare as that";
}

TEST(RecordReader, SurvivesSeededMutations) {
  const auto sound = talkative_trace().bytes();
  std::mt19937_64 random(20240611);
  for (int round = 0; round < 10000; ++round) {
    auto image = sound;
    for (std::uint64_t left = 1 + random() % 4; left != 0; --left) {
      const bool in_header = random() % 4 == 0;
      const std::size_t start = in_header ? 0 : kRecordsOffset;
      const std::size_t size = in_header ? 256 : image.size() - start;
      image[start + random() % size] = static_cast<std::byte>(random());
    }
    const std::size_t size = random() % 3 == 0 ? random() % image.size() : image.size();
    const Outcome outcome = read(std::span(image).first(size), 4096);
    ASSERT_LE(outcome.steps, image.size() / 8) << round;
  }
}

}  // namespace
}  // namespace geiger::trace
