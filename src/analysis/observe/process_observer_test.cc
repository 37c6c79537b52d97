// The test observes itself: it maps the trace that it claims to write.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "analysis/ingest/test_files.h"
#include "analysis/observe/observer.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "trace/test_trace.h"

namespace geiger::observe {
namespace {

using profile::MapKind;

/// Anonymous memory without large pages, all of it touched.
class Touched {
 public:
  explicit Touched(Bytes bytes)
      : bytes_(bytes),
        start_(static_cast<char*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    ::madvise(start_, bytes, MADV_NOHUGEPAGE);
    std::memset(start_, 1, bytes);
  }
  Touched(const Touched&) = delete;
  ~Touched() { ::munmap(start_, bytes_); }

  [[nodiscard]] char* start() const { return start_; }
  [[nodiscard]] Address address() const { return reinterpret_cast<Address>(start_); }

 private:
  Bytes bytes_;
  char* start_;
};

struct OwnProcess : ::testing::Test {
  void TearDown() override { ::munmap(mapped, kMiB); }

  /// The path of the trace, as it is now.
  std::string write() {
    trace.header().page_size = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
    std::string path = files.write("a.geiger", trace.bytes());
    std::filesystem::resize_file(path, kMiB);
    const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    mapped = ::mmap(nullptr, kMiB, PROT_READ, MAP_SHARED, file.get(), 0);
    return path;
  }

  ingest::TestFiles files;
  trace::TestTrace trace;
  void* mapped = MAP_FAILED;
};

TEST_F(OwnProcess, AnObjectWhoseMappingMadviseSplitsIsHeap) {
  const Touched block(64 * kMiB);
  ::madvise(block.start() + kMiB, 62 * kMiB, MADV_DONTDUMP);  // Three mappings.
  trace.sample({.address = block.address() + 16, .requested = 64 * kMiB - 16});
  const profile::Observations found = observe_now(::getpid(), write(), false);
  ASSERT_TRUE(found.last) << found.fault;
  ASSERT_EQ(found.last->residency.size(), 1U);
  EXPECT_GE(found.last->residency[0].resident, 63 * kMiB);
  EXPECT_GE(found.last->of(MapKind::kMallocHeap).resident, found.last->residency[0].resident);
}

TEST_F(OwnProcess, ALeapIsCaughtWithoutRest) {
  constexpr double kShare = 0.005;
  ProcessObserver process(::getpid(), write(), false);
  // Times are given, so nothing here depends on how long it takes.
  const Nanoseconds start = base::monotonic_now() + SnapshotPace{}.least_rest;
  EXPECT_FALSE(process.observe(start, Allowance::kNone, kShare));
  EXPECT_TRUE(process.observe(start + 1, Allowance::kFirstAndLeaps, kShare)) << "the first";
  EXPECT_FALSE(process.observe(start + 2, Allowance::kFirstAndLeaps, kShare)) << "no larger";
  const Bytes before = ProcessFiles(::getpid()).status()->counts.resident;
  const Touched block(before / 2 + 4 * kMiB);
  EXPECT_FALSE(process.observe(start + 3, Allowance::kNone, kShare));
  EXPECT_TRUE(process.observe(start + 4, Allowance::kFirstAndLeaps, kShare));
  EXPECT_FALSE(process.observe(start + 5, Allowance::kFirstAndLeaps, kShare)) << "no larger";
  EXPECT_FALSE(process.observe(start + 6, Allowance::kAll, kShare)) << "the rest is not over";
  EXPECT_GE(process.take().at_maximum->resident(), before + before / 4);
}

TEST_F(OwnProcess, OfAProgramThatDoesLittleReadingsAreRare) {
  ProcessObserver process(::getpid(), write(), false);
  const Nanoseconds start = base::monotonic_now();
  static_cast<void>(process.observe(start, Allowance::kNone, 0.005));
  const Nanoseconds often = process.next() - start, cost = process.cost();
  static_cast<void>(process.observe(start, Allowance::kNone, 1e-9));
  EXPECT_EQ(process.next() - start, 1'000'000'000);
  EXPECT_GE(often, 200 * cost);
}

TEST_F(OwnProcess, TheLastOfRareSnapshotsIsAFifthOldAtMost) {
  ProcessObserver process(::getpid(), write(), false);
  const Nanoseconds start = base::monotonic_now() + SnapshotPace{}.least_rest;
  constexpr Nanoseconds kSecond = 1'000'000'000;
  EXPECT_TRUE(process.observe(start, Allowance::kRare, 0.005)) << "the first";
  EXPECT_FALSE(process.observe(start + kSecond / 2, Allowance::kRare, 0.005));
  EXPECT_FALSE(process.observe(start + 100 * kSecond, Allowance::kFirstAndLeaps, 0.005));
  EXPECT_TRUE(process.observe(start + 100 * kSecond, Allowance::kRare, 0.005));
}

// A deleted segment leaves its readings to one that came and went between two looks.
TEST_F(OwnProcess, ASegmentThatWasNotSeenHasTheReadingsOfTheLast) {
  trace.header().pid = static_cast<std::uint32_t>(::getpid());
  trace.header().image_start = 1000;
  const std::string seen = write();
  const std::string last = seen + ".last.geiger";
  std::filesystem::copy_file(seen, last);
  Observer observer(false);
  observer.follow({{seen, ::getpid(), trace.header().image_start}});
  static_cast<void>(observer.round());
  std::filesystem::remove(seen);
  const auto found = observer.take(last);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->series.empty());
  EXPECT_EQ(found->fault, "");
  EXPECT_TRUE(!found->last || !found->last->residency_fault.empty());
}

TEST_F(OwnProcess, TheKernelsMaximumIsKeptIfACopyOfGeigerWasSmaller) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const std::string path = write();
  const auto after = [&](Bytes maximum) {
    Observer observer(false);
    observer.follow({{path, child, 1000}});
    observer.take_maximum(maximum);
    return observer.take(path)->high_water;
  };
  EXPECT_EQ(after(Bytes{1} << 50), Bytes{1} << 50);
  EXPECT_EQ(after(kMiB), 0U);
}

}  // namespace
}  // namespace geiger::observe
