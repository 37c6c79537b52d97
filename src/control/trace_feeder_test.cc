// Acts as the runtime with an artificial trace file.
#include "control/trace_feeder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/test_refusal.h"
#include "control/control_page.h"

namespace geiger::control {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kCapacity = 64 * kMiB;
constexpr Bytes kFirstExtent = 64 * kKiB;

/// A trace as the runtime leaves it after its start.
class FakeTrace {
 public:
  explicit FakeTrace(const std::string& path) : path_(path) {
    const base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    EXPECT_EQ(ftruncate(fd.get(), kCapacity), 0);
    EXPECT_EQ(fallocate(fd.get(), 0, 0, kFirstExtent), 0);
    base_ = static_cast<char*>(
        mmap(nullptr, kCapacity, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
    header().version = trace::kVersion;
    header().capacity = kCapacity;
    header().pid = static_cast<std::uint32_t>(getpid());
    header().tail = trace::kRecordsOffset;
    control().watermark = kFirstExtent;
    header().state = trace::State::kSampling;
    std::memcpy(header().magic, trace::kMagic, sizeof trace::kMagic);
  }
  ~FakeTrace() { unmap(); }
  FakeTrace(const FakeTrace&) = delete;
  FakeTrace& operator=(const FakeTrace&) = delete;

  void unmap() {
    if (base_ != nullptr) munmap(base_, kCapacity);
    base_ = nullptr;
  }
  [[nodiscard]] trace::FileHeader& header() const {
    return *reinterpret_cast<trace::FileHeader*>(base_);
  }
  [[nodiscard]] trace::ControlPage& control() const {
    return *reinterpret_cast<trace::ControlPage*>(base_ + trace::kControlOffset);
  }
  [[nodiscard]] Bytes allocated() const {
    struct stat status {};
    stat(path_.c_str(), &status);
    return static_cast<Bytes>(status.st_blocks) * 512;
  }

 private:
  std::string path_;
  char* base_ = nullptr;
};

class Feeder : public testing::Test {
 protected:
  Feeder() {
    std::string pattern = fs::temp_directory_path() / "geiger-test-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~Feeder() override { fs::remove_all(root_); }
  [[nodiscard]] std::string path(const std::string& name) const { return root_ / name; }

  fs::path root_;
};

TEST_F(Feeder, AllocatesBeforeItPublishes) {
  TraceFeeder feeder(root_);
  const FakeTrace trace(path("a.1.0.geiger"));
  feeder.round();
  EXPECT_EQ(trace.control().supervised, 1U);
  for (Bytes tail = trace::kRecordsOffset; tail < kCapacity; tail += 3 * kMiB) {
    trace.header().tail = tail;
    feeder.round();
    const Bytes watermark = trace.control().watermark;
    EXPECT_GE(watermark, std::min(kCapacity, tail + kMiB / 32));
    EXPECT_LE(watermark, kCapacity);
    EXPECT_GE(trace.allocated(), watermark);
  }
}

TEST_F(Feeder, LeavesShortProcessesAlone) {
  TraceFeeder feeder(root_);
  const FakeTrace trace(path("a.1.0.geiger"));
  trace.header().tail = trace::kRecordsOffset + 10 * kKiB;
  feeder.round();
  EXPECT_EQ(trace.control().watermark, kFirstExtent);
}

// As on ext3, FAT and some network file systems. The writer may be ahead of the watermark.
TEST_F(Feeder, LeavesRecordsAloneWhereThereIsNoFallocate) {
  const FakeTrace trace(path("a.1.0.geiger"));
  const std::string record = "a record beyond the watermark";
  char* place = reinterpret_cast<char*>(&trace.header()) + kFirstExtent + 4096;
  record.copy(place, record.size());
  const std::string header(reinterpret_cast<const char*>(&trace.header()), 64);
  trace.header().tail = kFirstExtent + 2 * 4096;
  ASSERT_TRUE(base::where_refused({{SYS_fallocate, EOPNOTSUPP}}, [&] {
    TraceFeeder feeder(root_);
    feeder.round();
    EXPECT_EQ(feeder.losses().refused, 0);
  }));
  EXPECT_GT(trace.control().watermark, trace.header().tail);
  EXPECT_GE(trace.allocated(), trace.control().watermark);
  EXPECT_EQ(std::string(place, record.size()), record);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(&trace.header()), 8), header.substr(0, 8));
}

TEST_F(Feeder, StopsAtTheCapacity) {
  TraceFeeder feeder(root_);
  const FakeTrace trace(path("a.1.0.geiger"));
  trace.header().tail = ~Bytes{0} - 100;
  feeder.round();
  feeder.round();
  EXPECT_EQ(trace.control().watermark, kCapacity);
}

TEST_F(Feeder, WaitsForTheHeaderAndForNewTraces) {
  TraceFeeder feeder(root_);
  const FakeTrace early(path("a.1.0.geiger"));
  std::memset(early.header().magic, 0, sizeof trace::kMagic);
  EXPECT_EQ(feeder.round().count(), 1);
  EXPECT_EQ(early.control().supervised, 0U);
  std::memcpy(early.header().magic, trace::kMagic, sizeof trace::kMagic);
  feeder.round();
  EXPECT_EQ(early.control().supervised, 1U);
  const FakeTrace late(path("a.1.1.geiger"));
  feeder.round();
  EXPECT_EQ(late.control().supervised, 1U);
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

// Each process may need four descriptors, geiger itself some.
TEST_F(Feeder, WatchesAsManyAsTheDescriptorsAllow) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 32 + 2 * 4;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  TraceFeeder feeder(root_);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const FakeTrace first(path("a.1.0.geiger"));
  const FakeTrace second(path("a.2.0.geiger"));
  feeder.round();
  EXPECT_EQ(feeder.losses().late, 0U);
  const FakeTrace third(path("a.3.0.geiger"));
  feeder.round();
  EXPECT_EQ(feeder.writing().size(), 2U);
  EXPECT_EQ(third.control().supervised, 0U);
  EXPECT_EQ(feeder.losses().late, 1U);
  first.header().state = trace::State::kExited;
  feeder.round();
  feeder.round();
  EXPECT_EQ(third.control().supervised, 1U);
  EXPECT_EQ(feeder.losses().late, 1U);
}

TEST(DescriptorLimit, IsRaisedToTheHardOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  raise_descriptor_limit();
  rlimit raised{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(Feeder, MissesTracesThatWereDeletedWhileTheyWereWritten) {
  TraceFeeder feeder(root_);
  const FakeTrace first(path("a.1.0.geiger"));
  const FakeTrace second(path("a.1.1.geiger"));
  second.header().image_start = first.header().image_start = 7;
  const FakeTrace other(path("a.2.0.geiger"));
  other.header().image_start = 8;
  feeder.round();
  fs::remove(path("a.1.0.geiger"));  // As rotation does.
  EXPECT_TRUE(feeder.losses().missing.empty());
  fs::remove(path("a.2.0.geiger"));
  EXPECT_EQ(feeder.losses().missing, std::vector<std::string>{"a.2.0.geiger"});
}

TEST_F(Feeder, MissesATraceThatLeftAnotherInItsPlace) {
  const FakeTrace trace(path("a.1.0.geiger"));
  TraceFeeder feeder(root_);
  feeder.round();
  fs::rename(path("a.1.0.geiger"), path("a.1.0.geiger.1"));  // As logrotate does.
  std::ofstream(path("a.1.0.geiger"));
  EXPECT_EQ(feeder.losses().missing, std::vector<std::string>{"a.1.0.geiger"});
  EXPECT_EQ(feeder.losses().renamed, std::vector<std::string>{"a.1.0.geiger.1"});
  fs::remove(path("a.1.0.geiger.1"));
  EXPECT_EQ(feeder.losses().missing.size(), 1U);
  EXPECT_TRUE(feeder.losses().renamed.empty());
}

TEST_F(Feeder, FindsADirectoryThatWasMoved) {
  fs::create_directory(root_ / "run");
  const TraceFeeder feeder(root_ / "run");
  EXPECT_EQ(feeder.losses().moved_to, "");
  fs::rename(root_ / "run", root_ / "moved");
  EXPECT_EQ(feeder.losses().moved_to, root_ / "moved");
  fs::remove(root_ / "moved");
  EXPECT_EQ(feeder.losses().moved_to, "");
}

TEST_F(Feeder, GuardsWhatIsWrittenFromAccidents) {
  const FakeTrace trace(path("a.geiger"));
  TraceFeeder feeder(root_);
  feeder.round();
  EXPECT_EQ(mode_of(path("a.geiger")), trace::kGuardedFileMode);
  EXPECT_TRUE(open_to_control(path("a.geiger")).is_open());
  EXPECT_EQ(mode_of(path("a.geiger")), trace::kGuardedFileMode);
  feeder.finish();
  EXPECT_EQ(mode_of(path("a.geiger")), trace::kFileMode);
}

TEST_F(Feeder, PausesThoseToComeToo) {
  TraceFeeder feeder(root_);
  const FakeTrace first(path("a.1.0.geiger"));
  feeder.round();
  feeder.set_paused(true);
  EXPECT_EQ(first.control().paused, 1U);
  const FakeTrace second(path("b.2.0.geiger"));
  feeder.round();
  EXPECT_EQ(second.control().paused, 1U);
  feeder.set_paused(false);
  EXPECT_EQ(first.control().paused, 0U);
  EXPECT_EQ(second.control().paused, 0U);
}

TEST_F(Feeder, LetsGoOfWhatHasEnded) {
  TraceFeeder feeder(root_);
  const FakeTrace trace(path("a.1.0.geiger"));
  feeder.round();
  trace.header().state = trace::State::kExited;
  feeder.round();
  EXPECT_EQ(trace.control().supervised, 0U);
}

TEST_F(Feeder, IgnoresWhatIsNoTrace) {
  const base::UniqueFd text(open(path("notes.geiger").c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_EQ(ftruncate(text.get(), 3 * 4096), 0);
  ASSERT_EQ(mkfifo(path("fifo.geiger").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", path("link.geiger").c_str()), 0);
  TraceFeeder feeder(root_);
  for (int i = 0; i < 50; ++i) feeder.round();
  EXPECT_EQ(feeder.round().count(), 200) << "and does not keep looking at it busily";
}

TEST_F(Feeder, LetsGoOfAnImageThatCalledExec) {
  TraceFeeder feeder(root_);
  const FakeTrace before(path("a.1.0.geiger"));
  const FakeTrace after(path("b.1.1.geiger"));
  after.header().start_monotonic = before.header().start_monotonic + 1;
  feeder.round();
  EXPECT_EQ(before.control().supervised, 0U);
  EXPECT_EQ(after.control().supervised, 1U);
}

// Mounts a file system of this size in a child process only, and feeds a writer that is ahead. Exit
// codes: 0 as expected, 1 not, 77 no permission to mount.
int feed_on_a_full_disk(const std::string& directory, Bytes size, bool has_fallocate, int refused,
                        Bytes watermark) {
  const std::string options = "size=" + std::to_string(size);
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", directory.c_str(), "tmpfs", 0, options.c_str()) != 0) {
    return 77;
  }
  const FakeTrace trace(directory + "/a.1.0.geiger");
  trace.header().tail = 2 * kFirstExtent;
  TraceFeeder feeder(directory);
  const auto feed = [&] {
    feeder.round();
    feeder.round();
  };
  if (has_fallocate) {
    feed();
  } else if (!base::where_refused({{SYS_fallocate, EOPNOTSUPP}}, feed)) {
    return 77;
  }
  const bool is_right =
      feeder.losses().refused == refused && trace.control().watermark.load() == watermark;
  return is_right ? 0 : 1;
}

TEST_F(Feeder, KeepsTheWatermarkWhereTheDiskIsFullAndTakesAShareOfWhatIsFree) {
  for (const bool has_fallocate : {true, false}) {
    const auto feed = [&](Bytes size, int refused, Bytes watermark) {
      const pid_t child = fork();
      if (child == 0) _exit(feed_on_a_full_disk(root_, size, has_fallocate, refused, watermark));
      int status = 0;
      waitpid(child, &status, 0);
      return status;
    };
    const int status = feed(192 * kKiB, ENOSPC, kFirstExtent);
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "mounting is not permitted";
    EXPECT_EQ(status, 0) << has_fallocate;
    // With enough room it would allocate 4 MiB ahead of 128 KiB.
    EXPECT_EQ(feed(2 * kMiB, 0, kMiB / 2), 0) << has_fallocate;
    EXPECT_EQ(feed(16 * kMiB, 0, 2 * kMiB + kMiB / 4), 0) << has_fallocate;
  }
}

TEST_F(Feeder, KnowsWhetherSomebodyWrites) {
  FakeTrace trace(path("a.1.0.geiger"));
  EXPECT_TRUE(is_being_written(path("a.1.0.geiger"), getpid()));
  trace.unmap();
  EXPECT_FALSE(is_being_written(path("a.1.0.geiger"), getpid()));
  EXPECT_FALSE(is_being_written(path("missing.geiger"), getpid()));
}

}  // namespace
}  // namespace geiger::control
