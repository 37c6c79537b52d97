// What a writer does where the kernel, or a limit of the process, refuses.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "trace/test_refusal.h"
#include "trace/writer.h"

namespace geiger::trace {
namespace {

constexpr Identity kIdentity{.seed = 1,
                             .interval = 4096,
                             .mode = 0,
                             .start_monotonic = 5,
                             .start_realtime = 6,
                             .executable = "/bin/program",
                             .allocator = "libc.so.6",
                             .runtime_version = "test",
                             .is_paused = false};
constexpr RecordHeader kFree{RecordType::kFree, 0, 3, 0, 1};

class Refusals : public testing::Test {
 protected:
  Refusals() {
    char name[] = "/tmp/geiger-writer-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/a";
  }
  ~Refusals() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] int open(Writer& writer, Bytes capacity = 64 * kMiB) const {
    return writer.open(path_.c_str(), capacity, kIdentity);
  }
  /// Of opening, where `number` fails with `error`.
  [[nodiscard]] int error_of_opening(long number, int error) const {
    return in_child([&] {
      refuse_call(number, error);
      Writer writer;
      return open(writer);
    });
  }
  /// Why a writer stopped that met the refusal when its trace was open.
  [[nodiscard]] int reason_to_stop(long number, int error) const {
    return in_child([&] {
      Writer writer;
      if (open(writer) != 0) return 100;
      refuse_call(number, error);
      while (const Slot slot = writer.reserve(kFree)) Writer::commit(slot, kFree);
      return static_cast<int>(writer.header()->stop_reason.load()) * 16 +
             (writer.header()->stop_errno == ENOSPC ? 1 : 0);
    });
  }
  [[nodiscard]] Bytes file_bytes() const { return std::filesystem::file_size(path_); }

  std::string directory_, path_;
};

TEST_F(Refusals, OfTheFileAreTheErrorOfOpening) {
  EXPECT_EQ(error_of_opening(SYS_ftruncate, EIO), EIO);
  std::filesystem::remove(path_);
  EXPECT_EQ(error_of_opening(SYS_fallocate, ENOSPC), ENOSPC);
  EXPECT_EQ(file_bytes(), 0U);  // There was no room even for a header.
  std::filesystem::remove(path_);
  EXPECT_EQ(error_of_opening(SYS_openat, EMFILE), EMFILE);
}

TEST_F(Refusals, OfTheMappingAreTheErrorOfOpening) {
  EXPECT_EQ(error_of_opening(SYS_mmap, ENOMEM), ENOMEM);
}

// File systems that cannot allocate get zeros.
TEST_F(Refusals, OfAllocationAreMetByWriting) {
  EXPECT_EQ(error_of_opening(SYS_fallocate, EOPNOTSUPP), 0);
  EXPECT_GE(file_bytes(), 64 * kMiB);
  std::filesystem::remove(path_);
  EXPECT_EQ(error_of_opening(SYS_fallocate, ENOSYS), 0);
  std::filesystem::remove(path_);
  EXPECT_EQ(in_child([&] {
              refuse_call(SYS_fallocate, EOPNOTSUPP);
              refuse_call(SYS_pwrite64, EDQUOT);
              Writer writer;
              return open(writer);
            }),
            EDQUOT);
}

// A kernel before 5.14 does not know how to populate: all is allocated at once.
TEST_F(Refusals, OfPopulatingMakeTheTraceAllocateAll) {
  EXPECT_EQ(error_of_opening(SYS_madvise, EINVAL), 0);
  EXPECT_GE(file_bytes(), 64 * kMiB);
}

TEST_F(Refusals, OfMoreStorageStopTheTrace) {
  const int no_space = static_cast<int>(StopReason::kNoSpace) * 16;
  EXPECT_EQ(reason_to_stop(SYS_madvise, EFAULT), no_space + 1);  // As of a full disk.
  std::filesystem::remove(path_);
  EXPECT_EQ(reason_to_stop(SYS_madvise, EPERM), no_space);
  std::filesystem::remove(path_);
  EXPECT_EQ(reason_to_stop(SYS_mremap, ENOMEM), static_cast<int>(StopReason::kMapFailed) * 16);
}

TEST_F(Refusals, OfLimitsAreTakenForNone) {
  EXPECT_EQ(error_of_opening(SYS_prlimit64, EPERM), 0);
  EXPECT_EQ(file_bytes(), 64 * kMiB);
}

TEST_F(Refusals, DoNotLetATraceBeSmallerThanItsStart) {
  Writer writer;
  EXPECT_EQ(open(writer, 64 * kKiB), EFBIG);
  EXPECT_FALSE(writer.is_open());
}

TEST_F(Refusals, OfAddressSpaceLeaveMostToTheProgram) {
  const int sixteenth = in_child([&] {
    const rlimit limit{kGiB, kGiB};
    setrlimit(RLIMIT_AS, &limit);
    Writer writer;
    return open(writer, kGiB) == 0 && writer.header()->capacity == kGiB / 16 ? 0 : 1;
  });
  EXPECT_EQ(sixteenth, 0);
}

TEST_F(Refusals, CannotBeAskedForMoreThanReferencesReach) {
  Writer writer;
  ASSERT_EQ(open(writer, ~Bytes{0}), 0);
  EXPECT_EQ(writer.header()->capacity, kMaxCapacity / 4096 * 4096);
  writer.close();
  writer.close();
  EXPECT_FALSE(writer.is_open());
}

// ------------------------------------------------------------------ writers ---

TEST_F(Refusals, OfNothingAreHarmless) {
  Writer writer;
  writer.count_drop(DropCause::kTraceFull);
  writer.stop(StopReason::kNoSpace, ENOSPC, 7);
  writer.allocate_mapped();
  EXPECT_FALSE(writer.is_open());
}

TEST_F(Refusals, AreTheFirstToStopIt) {
  Writer writer;
  ASSERT_EQ(open(writer), 0);
  writer.stop(StopReason::kNoSpace, ENOSPC, 7);
  writer.stop(StopReason::kTraceFull, 0, 8);
  EXPECT_EQ(writer.header()->stop_reason.load(), StopReason::kNoSpace);
  EXPECT_EQ(writer.header()->stop_monotonic, 7U);
  writer.allocate_mapped();  // Nothing more is needed.
  EXPECT_FALSE(writer.reserve(kFree));
}

// What confines itself may not ask for storage later.
TEST_F(Refusals, AreForestalledByAllocatingWhatIsMapped) {
  const int is_written = in_child([&] {
    Writer writer;
    if (open(writer, 16 * kMiB) != 0) return 1;
    writer.allocate_mapped();
    refuse_call(SYS_madvise, EFAULT);
    std::uint64_t written = 0;
    while (const Slot slot = writer.reserve(kFree)) {
      Writer::commit(slot, kFree);
      ++written;
    }
    return written == (16 * kMiB - kRecordsOffset) / 24 ? 0 : 2;
  });
  EXPECT_EQ(is_written, 0);
}

TEST_F(Refusals, OfNamesThatAreTooLongCutThem) {
  const std::string path(2 * sizeof FileHeader::executable, 'x');
  Identity identity = kIdentity;
  identity.executable = path.c_str();
  identity.allocator = nullptr;
  Writer writer;
  ASSERT_EQ(writer.open(path_.c_str(), kMiB, identity), 0);
  EXPECT_EQ(std::strlen(writer.header()->executable), sizeof FileHeader::executable - 1);
  EXPECT_STREQ(writer.header()->allocator, "");
}

TEST_F(Refusals, AreNotInheritedButRequestsAre) {
  Writer first;
  ASSERT_EQ(open(first), 0);
  EXPECT_EQ(first.header()->image_start, kIdentity.start_monotonic);
  first.finish(State::kStopped, 9);
  EXPECT_FALSE(first.reserve(kFree));
  ControlPage& asked = *const_cast<ControlPage*>(first.control());
  asked.requested_interval.store(777);
  asked.paused.store(1);
  Identity identity = kIdentity;
  identity.image_start = 3;
  identity.asked = &asked;
  Writer next;
  ASSERT_EQ(next.open((directory_ + "/b").c_str(), kMiB, identity), 0);
  EXPECT_EQ(next.header()->image_start, 3U);
  EXPECT_EQ(next.control()->requested_interval.load(), 777U);
  EXPECT_EQ(next.control()->paused.load(), 1U);
  EXPECT_TRUE(next.reserve(kFree));
}

}  // namespace
}  // namespace geiger::trace
