#include "control/target_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "control/control_page.h"
#include "trace/writer.h"

namespace geiger::control {
namespace {

using testing::HasSubstr;

TEST(MappedFiles, AreEachNamedOnce) {
  const auto files = mapped_files_in(
      "1000-2000 r-xp 00000000 08:01 11 /lib/libgeiger-preload.so\n"
      "2000-3000 rw-p 00001000 08:01 11 /lib/libgeiger-preload.so\n"
      "3000-4000 rw-s 00000000 08:01 12 /run with blank/p.7.0.geiger\n"
      "4000-5000 rw-p 00000000 08:01 13 /private.geiger\n"
      "5000-6000 r--s 00000000 08:01 14 /tmp/geiger-0/bell\n"
      "6000-7000 r--s 00000000 08:01 15 /tmp/other/bell\n"
      "7000-8000 rw-s 00000000 08:01 16 /tmp/geiger-0/7.99\n"
      "8000-9000 rw-s 00000000 08:01 17 /tmp/other/7.99\n"
      "9000-a000 rw-p 00000000 00:00 0 [heap]\n");
  EXPECT_EQ(files.size(), 7U);
  const GeigerFiles found = geiger_files_in(files);
  EXPECT_TRUE(found.has_runtime);
  ASSERT_EQ(found.traces.size(), 1U);
  EXPECT_EQ(found.traces[0].path, "/run with blank/p.7.0.geiger");
  ASSERT_TRUE(found.bell);
  EXPECT_EQ(found.bell->inode, 14U);
  ASSERT_EQ(found.rendezvous.size(), 1U);
  EXPECT_EQ(found.rendezvous[0].inode, 16U);
}

TEST(TargetProcess, IsRefusedWhereThereIsNone) {
  EXPECT_THAT(TargetProcess::open(0x7ffffff0).reason(), HasSubstr("there is no process"));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, child, &info, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(TargetProcess::open(child).reason(), HasSubstr("has ended"));
  waitpid(child, nullptr, 0);
}

TEST(TargetProcess, IsConfinedBeyondAnotherByItsOwnFilters) {
  EXPECT_FALSE(is_confined_beyond({}, {}));
  EXPECT_TRUE(is_confined_beyond({}, {2, 1}));
  EXPECT_FALSE(is_confined_beyond({2, 1}, {2, 1})) << "those of a container that both are in";
  EXPECT_TRUE(is_confined_beyond({2, 1}, {2, 2}));
  EXPECT_TRUE(is_confined_beyond({2, 0}, {2, 0})) << "a kernel that does not count filters";
  EXPECT_FALSE(is_confined_beyond({2, 1}, {}));
}

TEST(TargetProcess, StandsForOneProcessOnly) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    close(ends[1]);
    _exit(static_cast<int>(read(ends[0], &byte, 1)));
  }
  const auto target = TargetProcess::open(child);
  ASSERT_TRUE(target.has_value()) << target.reason();
  EXPECT_TRUE(target.value().is_alive());
  EXPECT_GT(target.value().facts().start, 0U);
  EXPECT_TRUE(target.value().geiger_files().has_value());
  EXPECT_FALSE(target.value().geiger_files().value().has_runtime);
  close(ends[1]);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  EXPECT_FALSE(target.value().is_alive());
}

// ---- marks ---------------------------------------------------------------------------

/// A trace that its process has open.
class Marks : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    path_ = directory_ + "/a.1.0.geiger";
    trace::Identity identity{};
    identity.interval = 512;
    identity.executable = identity.allocator = identity.runtime_version = "";
    ASSERT_EQ(writer_.open(path_.c_str(), kCapacity, identity), 0);
    writer_.header()->state.store(trace::State::kSampling);
  }
  void TearDown() override {
    writer_.close();
    std::filesystem::remove_all(directory_);
  }
  [[nodiscard]] LiveTrace open() const {
    return std::move(LiveTrace::open(open_to_control(path_), path_).value());
  }
  /// "time name" of the MarkRecords, in order.
  [[nodiscard]] std::vector<std::string> marks() const {
    std::vector<std::string> found;
    for (Bytes at = trace::kRecordsOffset; at < writer_.tail();) {
      const auto& record = writer_.at<trace::MarkRecord>(static_cast<trace::Ref>(at / 8));
      const auto header = trace::RecordHeader::unpack(record.header);
      EXPECT_EQ(header.type, trace::RecordType::kMark);
      const std::string name(reinterpret_cast<const char*>(&record + 1), record.text_bytes);
      found.push_back(std::to_string(record.time) + " " + name);
      at += Bytes{header.words} * 8;
    }
    return found;
  }

  static constexpr Bytes kCapacity = 256 * kKiB;
  std::string directory_ = "/tmp/geiger-marks-XXXXXX";
  std::string path_;
  trace::Writer writer_;
};

TEST_F(Marks, AreWrittenBesideTheProcess) {
  LiveTrace trace = open();
  EXPECT_TRUE(trace.write_mark(99, "warm"));
  EXPECT_TRUE(trace.write_mark(100, ""));
  EXPECT_TRUE(trace.write_mark(101, std::string(1000, 'x')));
  EXPECT_THAT(marks(),
              testing::ElementsAre("99 warm", "100 ", "101 " + std::string(kMostMarkBytes, 'x')));
}

TEST_F(Marks, NeedRoomAndARecording) {
  LiveTrace trace = open();
  while (trace.write_mark(1, "again and again")) {
  }
  EXPECT_LE(trace.size(), kCapacity);
  EXPECT_GT(trace.size(), kCapacity - 64);
  writer_.finish(trace::State::kStopped, 5);
  EXPECT_FALSE(trace.write_mark(2, "late"));
}

TEST_F(Marks, AreNotWrittenBehindACut) {
  LiveTrace trace = open();
  EXPECT_TRUE(trace.write_mark(1, "kept"));
  writer_.shrink(path_.c_str());
  EXPECT_FALSE(trace.write_mark(2, "lost"));
  EXPECT_EQ(std::filesystem::file_size(path_), writer_.header()->capacity);
}

}  // namespace
}  // namespace geiger::control
