// Types of live samples, of this process's own memory.
#include "analysis/observe/seen_types.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>

#include "analysis/ingest/test_files.h"
#include "trace/test_trace.h"

namespace geiger::observe {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::TestTrace;
using vocabulary::EntryPoint;

constexpr Nanoseconds kSeenNow = 5'000'000'000;
constexpr std::uint32_t kSeenBy = 0x030b02f0;

/// As CPython lays types and objects out.
struct Objects {
  std::array<std::uint64_t, 128> type{}, fixed{};
  std::array<std::uint64_t, 4> object{};

  Objects() {
    const auto address = [](const void* of) { return reinterpret_cast<std::uint64_t>(of); };
    type[1] = fixed[1] = address(type.data());
    type[3] = address("type\0 and thirty-two bytes behind it");
    fixed[3] = address("Fixed\0 and thirty-two bytes behind it");
    type[4] = 904;
    fixed[4] = sizeof object;
    type[21] = 1U << 31 | 1U << 12;
    fixed[21] = 1U << 12;
    object[0] = type[0] = fixed[0] = 1;
    object[1] = address(fixed.data());
  }
};

struct Seen : ::testing::Test {
  ingest::TestFiles files;
  TestTrace trace;
  TraceFollower follower;
  Objects objects;
  SeenTypes types;

  trace::Ref object(EntryPoint entry_point = EntryPoint::kPyObjectMalloc) {
    TestTrace::Drawn drawn;
    drawn.address = reinterpret_cast<Address>(objects.object.data());
    drawn.requested = sizeof objects.object;
    drawn.entry_point = entry_point;
    return trace.sample(drawn);
  }
  void write() {
    trace.header().page_size = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
    const auto bytes = trace.bytes();
    const bool is_new = path.empty();
    if (is_new) path = files.write("a.geiger", {});
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!is_new) return;
    std::filesystem::resize_file(path, kMiB);
    ASSERT_TRUE(follower.open(path).has_value());
  }
  void read() {
    write();
    ASSERT_TRUE(follower.follow(kMiB, kSeenNow));
    const base::UniqueFd pages(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    const auto entries = [&](std::uint64_t first, std::uint64_t* to, std::size_t count) {
      const ssize_t got = ::pread(pages.get(), to, count * 8, static_cast<off_t>(first * 8));
      return got < 0 ? std::size_t{0} : static_cast<std::size_t>(got) / 8;
    };
    Pagemap pagemap(entries, follower.header().page_size);
    types.read(ProcessFiles(::getpid()), pagemap, follower.live().by_address(), follower);
  }
  /// The references of the samples with a type.
  std::vector<trace::Ref> typed() {
    const profile::ObjectTypes found = types.take();
    fault = found.fault;
    std::vector<trace::Ref> refs;
    for (const profile::SampleType& each : found.samples) {
      EXPECT_EQ(found.names.at(each.type), "Fixed");
      refs.push_back(each.sample);
    }
    return refs;
  }

  std::string path, fault;
};

TEST_F(Seen, SamplesOfObjectsGetTheirTypes) {
  trace.interpreter(kSeenBy, 0x1000);
  const trace::Ref first = object();
  object(EntryPoint::kPyMemMalloc);
  object(EntryPoint::kMalloc);
  const trace::Ref last = object(EntryPoint::kPyObjectRealloc);
  read();
  types.keep(follower, kSeenNow);
  EXPECT_THAT(typed(), ::testing::ElementsAre(first, last));
  EXPECT_EQ(fault, "");
}

TEST_F(Seen, OnlyObjectsWhoseTypeIsNotInTheTraceAreRead) {
  trace.interpreter(kSeenBy, 0x1000);
  const trace::Ref named = object();
  const trace::Ref unnamed = object();
  trace.object_type(named, trace.name(trace::NameKind::kType, 0, "Fixed"));
  read();
  types.keep(follower, kSeenNow);
  EXPECT_THAT(typed(), ::testing::ElementsAre(unnamed));
}

TEST_F(Seen, AFreeWhileMemoryIsReadTakesTheTypeBack) {
  trace.interpreter(kSeenBy, 0x1000);
  const trace::Ref freed = object();
  const trace::Ref stays = object();
  read();
  trace.free(freed, 3000);
  write();
  types.keep(follower, kSeenNow);
  EXPECT_THAT(typed(), ::testing::ElementsAre(stays));
}

TEST_F(Seen, AFreedSampleKeepsTheTypeOfAnEarlierSnapshot) {
  trace.interpreter(kSeenBy, 0x1000);
  const trace::Ref freed = object();
  read();
  types.keep(follower, kSeenNow);
  trace.free(freed, 3000);
  const trace::Ref later = object();
  read();
  types.keep(follower, kSeenNow);
  EXPECT_THAT(typed(), ::testing::ElementsAre(freed, later));
}

TEST_F(Seen, AnObjectThatIsMadeJustNowIsReadAgain) {
  trace.interpreter(kSeenBy, 0x1000);
  const trace::Ref sample = object();
  const std::uint64_t type = std::exchange(objects.object[1], 0);
  read();
  types.keep(follower, kSeenNow);
  objects.object[1] = type;
  read();
  types.keep(follower, kSeenNow);
  EXPECT_THAT(typed(), ::testing::ElementsAre(sample));
}

TEST_F(Seen, UnknownInterpretersAreRefused) {
  trace.interpreter(0x031000f0, 0x1000);
  object();
  read();
  types.keep(follower, kSeenNow);
  EXPECT_THAT(typed(), IsEmpty());
  EXPECT_THAT(fault, HasSubstr("not known"));
}

TEST_F(Seen, BuildsWithoutTheGlobalLockAreRefused) {
  trace.interpreter(kSeenBy, 0x1000, vocabulary::InterpretedFrames::kFreeThreaded);
  object();
  read();
  EXPECT_THAT(typed(), IsEmpty());
  EXPECT_THAT(fault, HasSubstr("not known"));
}

}  // namespace
}  // namespace geiger::observe
