// How the writer handles system calls that the kernel refuses.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "base/raw_syscall.h"
#include "base/test_refusal.h"
#include "trace/writer.h"

namespace geiger::trace {
namespace {

using base::Refusal;
using base::where_refused;

constexpr std::uint32_t kPopulate = 23;  // MADV_POPULATE_WRITE
constexpr Refusal kOldKernel{SYS_madvise, EINVAL, 2, kPopulate};
constexpr Bytes kFirstExtent = 64 * kKiB;
constexpr Bytes kFirstMapping = 16 * kMiB;
constexpr RecordHeader kFreeRecord{RecordType::kFree, 0, 3, 0, 1};
/// The largest record.
constexpr RecordHeader kLong{RecordType::kMark, 0, kMaxRecordWords, 0, 1};
constexpr Identity kPausedIdentity{
    .seed = 1,
    .interval = 4096,
    .mode = 0,
    .start_monotonic = 5,
    .start_realtime = 6,
    .executable = "/bin/program",
    .allocator = nullptr,
    .runtime_version = "a version that is longer than its room of 32",
    .is_paused = true};

/// How many mappings of this process show the file.
int mappings_of(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.ends_with(path) ? 1 : 0;
  return count;
}

struct WriterRefusals : ::testing::Test {
  WriterRefusals() {
    char name[] = "/tmp/geiger-refused-XXXXXX";
    directory = mkdtemp(name);
  }
  ~WriterRefusals() override {
    writer.close();
    std::filesystem::remove_all(directory);
  }
  [[nodiscard]] std::string path(const char* name) const { return directory + "/" + name; }

  int open(Bytes capacity = kMiB) {
    return writer.open(path("a").c_str(), capacity, kPausedIdentity);
  }

  /// Reserves until there is no room; returns the bytes reserved.
  Bytes fill() {
    Bytes bytes = 0;
    while (const Slot slot = writer.reserve(kLong)) {
      Writer::commit(slot, kLong);
      bytes += Bytes{kLong.words} * 8;
    }
    return bytes;
  }

  void expect_stop(StopReason reason, int error) const {
    EXPECT_TRUE(writer.is_stopped());
    EXPECT_EQ(writer.header()->state.load(), State::kOff);
    EXPECT_EQ(writer.header()->stop_reason.load(), reason);
    EXPECT_EQ(writer.header()->stop_errno, error);
  }

  std::string directory;
  Writer writer;
};

TEST_F(WriterRefusals, OpeningSaysWhichAndLeavesAnEmptyFile) {
  const auto expect = [&](const Refusal& refusal, int told) {
    ASSERT_TRUE(where_refused({refusal}, [&] { EXPECT_EQ(open(), told); }));
    EXPECT_FALSE(writer.is_open());
    EXPECT_EQ(std::filesystem::file_size(path("a")), 0U);
    std::filesystem::remove(path("a"));
  };
  expect({SYS_ftruncate, EFBIG, 1, kMiB}, EFBIG);
  expect({SYS_mmap, ENOMEM, 3, MAP_SHARED}, ENOMEM);
  expect({SYS_madvise, EFAULT, 2, kPopulate}, ENOSPC);
  expect({SYS_madvise, ENOMEM, 2, kPopulate}, ENOMEM);
  EXPECT_EQ(open(256 * kKiB - 1), EFBIG) << "too small to be begun";
  EXPECT_EQ(std::filesystem::file_size(path("a")), 0U);
}

TEST_F(WriterRefusals, AnOldKernelsFileSystemWithoutFallocateGetsZeros) {
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    ASSERT_TRUE(where_refused({kOldKernel, {SYS_fallocate, error}}, [&] { EXPECT_EQ(open(), 0); }));
    EXPECT_TRUE(writer.reserve(kFreeRecord));
    writer.close();
    std::filesystem::remove(path("a"));
    ASSERT_TRUE(where_refused({kOldKernel, {SYS_fallocate, error}, {SYS_pwrite64, EDQUOT, 3, 8192}},
                              [&] { EXPECT_EQ(open(), EDQUOT); }));
    std::filesystem::remove(path("a"));
    // Nothing written without an error means full.
    ASSERT_TRUE(where_refused({kOldKernel, {SYS_fallocate, error}, {SYS_pwrite64, 0, 3, 8192}},
                              [&] { EXPECT_EQ(open(), ENOSPC); }));
    std::filesystem::remove(path("a"));
  }
}

TEST_F(WriterRefusals, AKernelThatCannotPopulateAllocatesAllAtOnce) {
  ASSERT_TRUE(where_refused({kOldKernel}, [&] {
    ASSERT_EQ(open(kGiB), 0);
    EXPECT_EQ(writer.header()->capacity, 64 * kMiB);
    EXPECT_LE(64 * kMiB - kRecordsOffset - fill(), Bytes{kLong.words} * 8);
  }));
  expect_stop(StopReason::kTraceFull, 0);
  writer.close();
  std::filesystem::remove(path("a"));
  ASSERT_TRUE(where_refused({kOldKernel, {SYS_fallocate, ENOSPC, 3, 8 * kMiB}},
                            [&] { EXPECT_EQ(open(8 * kMiB), ENOSPC); }));
  EXPECT_FALSE(writer.is_open());
  EXPECT_EQ(mappings_of(path("a")), 0) << "the program's address space is given back";
}

TEST_F(WriterRefusals, ADiskThatIsFullStopsTheTrace) {
  for (const auto& [answer, told] : {std::pair{EFAULT, ENOSPC}, std::pair{ENOMEM, ENOMEM}}) {
    ASSERT_EQ(open(), 0);
    ASSERT_TRUE(where_refused({{SYS_madvise, answer, 2, kPopulate}}, [&] {
      EXPECT_LE(kFirstExtent - kRecordsOffset - fill(), Bytes{kLong.words} * 8);
    }));
    expect_stop(StopReason::kNoSpace, told);
    writer.close();
    std::filesystem::remove(path("a"));
  }
}

TEST_F(WriterRefusals, AMappingThatCannotGrowStopsTheTrace) {
  ASSERT_EQ(open(64 * kMiB), 0);
  ASSERT_TRUE(where_refused({{SYS_mremap, ENOMEM}}, [&] {
    EXPECT_LE(kFirstMapping - kRecordsOffset - fill(), Bytes{kLong.words} * 8);
  }));
  expect_stop(StopReason::kMapFailed, ENOMEM);
  writer.stop(StopReason::kNoSpace, ENOSPC, 9);
  expect_stop(StopReason::kMapFailed, ENOMEM);  // The first reason counts.
}

TEST_F(WriterRefusals, LimitsThatCannotBeReadAreNone) {
  ASSERT_TRUE(where_refused({{SYS_prlimit64, EPERM}}, [&] { EXPECT_EQ(open(2 * kGiB), 0); }));
  EXPECT_EQ(writer.header()->capacity, 2 * kGiB);
}

TEST_F(WriterRefusals, ASixteenthOfALimitedAddressSpaceIsEnough) {
  if (base::kIsSanitized) GTEST_SKIP() << "needs more address space than there is memory";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit limited{1024 * kGiB, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  EXPECT_EQ(open(kMaxCapacity * 4), 0);
  EXPECT_EQ(writer.header()->capacity, kMaxCapacity);
  writer.close();
  std::filesystem::remove(path("a"));
  const rlimit tighter{16 * kGiB, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tighter), 0);
  EXPECT_EQ(open(2 * kGiB), 0);
  EXPECT_EQ(writer.header()->capacity, kGiB);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

TEST_F(WriterRefusals, AProgramThatConfinedItselfIsAskedForNothing) {
  using base::Confinement;
  ASSERT_EQ(open(64 * kMiB), 0);
  base::confinement = Confinement::kToAllocators;
  Writer other;
  const int refused = other.open(path("b").c_str(), kMiB, kPausedIdentity);
  const Bytes filled = fill();
  base::confinement = Confinement::kNone;
  EXPECT_EQ(refused, EPERM);
  EXPECT_FALSE(other.is_open());
  EXPECT_FALSE(std::filesystem::exists(path("b")));
  EXPECT_LE(kFirstExtent - kRecordsOffset - filled, Bytes{kLong.words} * 8);
  expect_stop(StopReason::kConfined, 0);
  base::confinement = Confinement::kToAllocators;
  writer.close();  // Allocators call munmap too.
  base::confinement = Confinement::kNone;
  EXPECT_FALSE(writer.is_open());
}

TEST_F(WriterRefusals, NothingIsDoneToATraceThatIsNotOpen) {
  writer.close();
  writer.count_drop(DropCause::kReentered);
  writer.stop(StopReason::kNoSpace, ENOSPC, 1);
  writer.allocate_mapped();
  EXPECT_FALSE(writer.is_open());
}

TEST_F(WriterRefusals, ATraceThatEndedTakesNoMore) {
  ASSERT_EQ(open(), 0);
  EXPECT_STREQ(writer.header()->runtime_version, "a version that is longer than i");
  EXPECT_STREQ(writer.header()->allocator, "");
  EXPECT_EQ(writer.control()->paused.load(), 1U);
  writer.count_drop(DropCause::kReentered, 3);
  EXPECT_EQ(writer.header()->drops[static_cast<std::size_t>(DropCause::kReentered)].load(), 3U);
  const Slot before = writer.reserve(kFreeRecord);
  writer.finish(State::kContinued, 7);
  EXPECT_TRUE(writer.reserve(kFreeRecord));  // A thread that is inside may finish.
  writer.finish(State::kStopped, 8);
  EXPECT_FALSE(writer.reserve(kFreeRecord));
  writer.count_drop(DropCause::kTraceFull);  // As what has no slot is, but this is after the end.
  EXPECT_EQ(writer.header()->drops[static_cast<std::size_t>(DropCause::kTraceFull)].load(), 0U);
  Writer::commit(before, kFreeRecord);
  EXPECT_EQ(before.words[0], kFreeRecord.pack());
  EXPECT_EQ(writer.header()->stop_monotonic, 8U);
  writer.allocate_mapped();  // Stopped: changes nothing.
}

TEST_F(WriterRefusals, ASegmentIsAskedWhatTheOneBeforeWas) {
  ASSERT_EQ(open(), 0);
  auto* asked = const_cast<ControlPage*>(writer.control());
  asked->requested_interval = 77;
  asked->wanted_utilization = 5;
  asked->wanted_residency = 7;
  asked->wanted_segment = 6;
  asked->watermark = kMiB;
  Identity next = kPausedIdentity;
  next.is_paused = false;
  next.image_start = 3;
  next.segment = 1;
  next.asked = asked;
  Writer second;
  ASSERT_EQ(second.open(path("b").c_str(), kMiB, next), 0);
  EXPECT_EQ(second.header()->image_start, 3U);
  EXPECT_EQ(second.header()->segment, 1U);
  EXPECT_EQ(second.control()->requested_interval.load(), 77U);
  EXPECT_EQ(second.control()->paused.load(), 1U);
  EXPECT_EQ(second.control()->wanted_utilization.load(), 5U);
  EXPECT_EQ(second.control()->wanted_residency.load(), 7U);
  EXPECT_EQ(second.control()->wanted_segment.load(), 6U);
  EXPECT_EQ(second.control()->watermark.load(), kFirstExtent) << "storage is each segment's own";
  // All of it at once, then again.
  second.allocate_mapped();
  second.allocate_mapped();
  EXPECT_EQ(second.reserve(kFreeRecord).ref, kRecordsOffset / 8);
  second.close();
}

/// Without a supervisor storage doubles, by at most 1 MiB at a time.
TEST_F(WriterRefusals, StorageDoublesAndThenGrowsByMegabytes) {
  ASSERT_EQ(open(4 * kMiB), 0);
  const auto pages_of_file = [&] {
    struct stat status {};
    EXPECT_EQ(stat(path("a").c_str(), &status), 0);
    return static_cast<Bytes>(status.st_blocks) * 512;
  };
  Bytes expected = kFirstExtent;
  while (expected < 4 * kMiB) {
    EXPECT_EQ(pages_of_file(), expected);
    while (writer.tail() <= expected) Writer::commit(writer.reserve(kLong), kLong);
    expected += std::min(expected, kMiB);
  }
}

TEST_F(WriterRefusals, ASupervisorsWatermarkIsWrittenUpToWithoutACall) {
  ASSERT_EQ(open(), 0);
  const_cast<ControlPage*>(writer.control())->watermark = kMiB;
  Bytes filled = 0;
  ASSERT_TRUE(where_refused({{SYS_madvise, ENOMEM, 2, kPopulate}}, [&] { filled = fill(); }));
  EXPECT_GT(filled, kMiB - kRecordsOffset - Bytes{kLong.words} * 8 - 8);
  expect_stop(StopReason::kTraceFull, 0);
}

TEST_F(WriterRefusals, NoTraceIsLargerThanReferencesReach) {
  ASSERT_EQ(open(~Bytes{0}), 0);
  EXPECT_EQ(writer.header()->capacity, kMaxCapacity / 4096 * 4096);
  writer.close();
  writer.close();
  EXPECT_FALSE(writer.is_open());
}

TEST_F(WriterRefusals, NamesThatAreTooLongAreCut) {
  const std::string program(2 * sizeof FileHeader::executable, 'x');
  Identity identity = kPausedIdentity;
  identity.executable = program.c_str();
  ASSERT_EQ(writer.open(path("a").c_str(), kMiB, identity), 0);
  EXPECT_EQ(std::strlen(writer.header()->executable), sizeof FileHeader::executable - 1);
  EXPECT_STREQ(writer.header()->allocator, "");
}

}  // namespace
}  // namespace geiger::trace
