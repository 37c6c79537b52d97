#include "trace/writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

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

class WriterTest : public testing::Test {
 protected:
  WriterTest() {
    char name[] = "/tmp/geiger-writer-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~WriterTest() override { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string path(const char* name) const { return directory_ + "/" + name; }

  std::string directory_;
};

TEST_F(WriterTest, CommitsLast) {
  Writer writer;
  ASSERT_EQ(writer.open(path("a").c_str(), kMiB, kIdentity), 0);
  const Slot slot = writer.reserve(kFree);
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot.ref, kRecordsOffset / 8);
  EXPECT_EQ(RecordHeader::unpack(slot.words[0]).flags, kReserved);
  EXPECT_EQ(RecordHeader::unpack(slot.words[0]).words, 3);
  Writer::commit(slot, kFree);
  EXPECT_EQ(slot.words[0], kFree.pack());
}

TEST_F(WriterTest, CreatesAPrivateFileAndKeepsNoDescriptor) {
  const int before = open("/dev/null", O_RDONLY);
  close(before);
  Writer writer;
  ASSERT_EQ(writer.open(path("a").c_str(), kMiB, kIdentity), 0);
  const int after = open("/dev/null", O_RDONLY);
  close(after);
  EXPECT_EQ(before, after);
  struct stat status {};
  ASSERT_EQ(stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(WriterTest, RefusesExistingFilesAndPlantedLinks) {
  ASSERT_EQ(symlink("/etc/passwd", path("link").c_str()), 0);
  Writer writer;
  EXPECT_EQ(writer.open(path("link").c_str(), kMiB, kIdentity), EEXIST);
  EXPECT_EQ(writer.open(path("missing/a").c_str(), kMiB, kIdentity), ENOENT);
  EXPECT_FALSE(writer.is_open());
}

TEST_F(WriterTest, StopsWhenFullAndSaysSo) {
  Writer writer;
  ASSERT_EQ(writer.open(path("a").c_str(), 256 * kKiB, kIdentity), 0);
  std::uint64_t written = 0;
  while (const Slot slot = writer.reserve(kFree)) {
    Writer::commit(slot, kFree);
    ++written;
  }
  EXPECT_EQ(written, (256 * kKiB - kRecordsOffset) / 24);
  EXPECT_TRUE(writer.is_stopped());
  EXPECT_EQ(writer.header()->stop_reason.load(), StopReason::kTraceFull);
  EXPECT_EQ(writer.header()->state.load(), State::kOff);
  EXPECT_FALSE(writer.reserve(kFree));
}

TEST_F(WriterTest, AllocatesAheadOfItself) {
  Writer writer;
  ASSERT_EQ(writer.open(path("a").c_str(), 8 * kMiB, kIdentity), 0);
  for (int i = 0; i < 200'000; ++i) {
    const Slot slot = writer.reserve(kFree);
    ASSERT_TRUE(slot) << i;
    Writer::commit(slot, kFree);
  }
}

// From 16 MiB to 64 MiB while four threads write; ThreadRecords written first must
// stay valid through it.
TEST_F(WriterTest, DoublesItsMappingUnderWriters) {
  Writer writer;
  ASSERT_EQ(writer.open(path("a").c_str(), 64 * kMiB, kIdentity), 0);
  const Slot early = writer.reserve(kFree);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&writer, t] {
      for (int i = 0; i < 400'000; ++i) {
        const Slot slot = writer.reserve(kFree);
        slot.words[1] = slot.words[2] = t;
        Writer::commit(slot, kFree);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  early.words[1] = early.words[2] = 0;
  Writer::commit(early, kFree);
  std::uint64_t sum = 0;
  std::ifstream file(path("a"), std::ios::binary);
  file.seekg(kRecordsOffset);
  std::uint64_t record[3];
  for (int i = 0; i < 1'600'001; ++i) {
    ASSERT_TRUE(file.read(reinterpret_cast<char*>(record), sizeof record));
    ASSERT_EQ(record[0], kFree.pack());
    ASSERT_EQ(record[1], record[2]);
    sum += record[1];
  }
  EXPECT_EQ(sum, 400'000U * (1 + 2 + 3 + 4));
}

TEST_F(WriterTest, ReservesDisjointSpaceForThreads) {
  Writer writer;
  ASSERT_EQ(writer.open(path("a").c_str(), 8 * kMiB, kIdentity), 0);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 1; t <= 4; ++t) {
    threads.emplace_back([&writer, t] {
      for (int i = 0; i < 10'000; ++i) {
        RecordHeader header = kFree;
        header.thread = t;
        const Slot slot = writer.reserve(header);
        slot.words[1] = slot.words[2] = t;
        Writer::commit(slot, header);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto* words = reinterpret_cast<const std::uint64_t*>(writer.header());
  int counts[5] = {};
  for (std::size_t at = kRecordsOffset / 8; at < writer.header()->tail / 8; at += 3) {
    const RecordHeader header = RecordHeader::unpack(words[at]);
    ASSERT_LE(header.thread, 4U);
    ASSERT_EQ(words[at + 1], header.thread);
    ++counts[header.thread];
  }
  for (int t = 1; t <= 4; ++t) EXPECT_EQ(counts[t], 10'000);
}

// The order of tests/memory_order, on this processor.
TEST_F(WriterTest, ShowsNoRecordBeforeItIsFilled) {
  constexpr std::uint64_t kRecords = 200'000;
  Writer writer;
  ASSERT_EQ(writer.open(path("a").c_str(), 8 * kMiB, kIdentity), 0);
  std::thread thread([&writer] {
    for (std::uint64_t i = 1; i <= kRecords; ++i) {
      const Slot slot = writer.reserve(kFree);
      slot.words[1] = slot.words[2] = i;
      Writer::commit(slot, kFree);
    }
  });
  auto* words = reinterpret_cast<std::uint64_t*>(writer.header());
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 1; i <= kRecords; ++i) {
    std::uint64_t* record = words + kRecordsOffset / 8 + (i - 1) * 3;
    while (std::atomic_ref(record[0]).load(std::memory_order_acquire) != kFree.pack()) {
      std::this_thread::yield();
    }
    wrong += record[1] != i || record[2] != i;
  }
  thread.join();
  EXPECT_EQ(wrong, 0U);
}

// SIGXFSZ would kill the child.
TEST_F(WriterTest, StaysBelowTheFileSizeLimit) {
  const std::string file = path("a");
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{512 * 1024, 512 * 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    Writer writer;
    const int error = writer.open(file.c_str(), kGiB, kIdentity);
    while (const Slot slot = writer.reserve(kFree)) Writer::commit(slot, kFree);
    exit(error == 0 && writer.header()->capacity == 512 * 1024 ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(WriterTest, ShrinksToWhatIsReserved) {
  Writer writer;
  ASSERT_EQ(writer.open(path("a").c_str(), kMiB, kIdentity), 0);
  const Slot first = writer.reserve(kFree);
  const Slot late = writer.reserve(kFree);
  Writer::commit(first, kFree);
  writer.shrink(path("a").c_str());
  EXPECT_EQ(std::filesystem::file_size(path("a")), kRecordsOffset + 2 * 3 * 8);
  EXPECT_EQ(writer.header()->capacity, kRecordsOffset + 2 * 3 * 8);
  Writer::commit(late, kFree);  // A thread that was inside.
  EXPECT_EQ(late.words[0], kFree.pack());
  EXPECT_FALSE(writer.reserve(kFree));
  writer.count_drop(DropCause::kTraceFull);
  EXPECT_EQ(writer.header()->drops[static_cast<int>(DropCause::kTraceFull)], 0U);
  writer.shrink(path("a").c_str());  // Again: nothing changes.
  EXPECT_EQ(std::filesystem::file_size(path("a")), kRecordsOffset + 2 * 3 * 8);
}

TEST_F(WriterTest, ShrinksNoOtherFileOfItsName) {
  Identity other = kIdentity;
  other.seed = 2;
  Writer first, second;
  ASSERT_EQ(first.open(path("a").c_str(), kMiB, kIdentity), 0);
  std::filesystem::rename(path("a"), path("moved"));
  ASSERT_EQ(second.open(path("a").c_str(), kMiB, other), 0);
  first.shrink(path("a").c_str());
  EXPECT_EQ(std::filesystem::file_size(path("a")), kMiB);
  EXPECT_TRUE(second.reserve(kFree));
}

// No record is beyond the cut, wherever the threads are in a reservation.
TEST_F(WriterTest, ShrinksUnderWriters) {
  for (int round = 0; round < 20; ++round) {
    const std::string file = path(std::to_string(round).c_str());
    Writer writer;
    ASSERT_EQ(writer.open(file.c_str(), 4 * kMiB, kIdentity), 0);
    std::atomic<Bytes> last{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        Bytes own = 0;
        while (const Slot slot = writer.reserve(kFree)) {
          Writer::commit(slot, kFree);
          own = Bytes{slot.ref} * 8 + 3 * 8;
        }
        for (Bytes seen = last.load(); seen < own && !last.compare_exchange_weak(seen, own);) {
        }
      });
    }
    writer.shrink(file.c_str());
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(last, writer.header()->capacity);
    EXPECT_EQ(std::filesystem::file_size(file), writer.header()->capacity);
  }
}

TEST(Thinning, KeepsHalfAsManyWithEveryLevel) {
  const std::uint64_t half = std::uint64_t{1} << 63;
  EXPECT_TRUE(is_kept(~std::uint64_t{0}, 0));
  EXPECT_FALSE(is_kept(half, 1));
  EXPECT_TRUE(is_kept(half - 1, 1));
  EXPECT_FALSE(is_kept(half - 1, 2));
  EXPECT_TRUE(is_kept(1, 63));
  EXPECT_FALSE(is_kept(2, 63));
  EXPECT_FALSE(is_kept(0, 64));
}

}  // namespace
}  // namespace geiger::trace
