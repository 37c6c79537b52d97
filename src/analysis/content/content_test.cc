// The test reads copies of itself, which hold still and map the trace that they claim to write.
#include "analysis/content/content.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "analysis/ingest/test_files.h"
#include "base/unique_fd.h"
#include "trace/test_trace.h"

namespace geiger::content {
namespace {

using profile::kAnyCopies;
using profile::SampleContent;

constexpr Bytes kText = 100;

/// A block of malloc.
class Block {
 public:
  Block(Bytes bytes, int byte) : start_(std::malloc(bytes), std::free) {
    std::memset(start_.get(), byte, bytes);
    asm volatile("" : : "r"(start_.get()) : "memory");
  }
  [[nodiscard]] char* start() const { return static_cast<char*>(start_.get()); }

 private:
  std::unique_ptr<void, void (*)(void*)> start_;
};

struct OwnContent : ::testing::Test {
  void TearDown() override { ::munmap(mapped, kMiB); }

  trace::Ref sample(const void* start, Bytes bytes) {
    return trace.sample({.address = reinterpret_cast<Address>(start), .requested = bytes});
  }
  void read() {
    trace.header().page_size = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
    const std::string path = files.write("a.geiger", trace.bytes());
    std::filesystem::resize_file(path, kMiB);
    const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    mapped = ::mmap(nullptr, kMiB, PROT_READ, MAP_SHARED, file.get(), 0);
    found = read_copy(path);
  }
  static profile::Observations read_copy(const std::string& path) {
    const pid_t copy = ::fork();
    if (copy == 0) {
      for (;;) ::pause();
    }
    profile::Observations read = read_content(copy, path);
    ::kill(copy, SIGKILL);
    ::waitpid(copy, nullptr, 0);
    return read;
  }
  SampleContent of(trace::Ref sample) {
    EXPECT_TRUE(found.last_content) << found.content_fault;
    if (!found.last_content) return {};
    for (const SampleContent& each : found.last_content->samples) {
      if (each.sample == sample) return each;
    }
    ADD_FAILURE() << sample;
    return {};
  }

  ingest::TestFiles files;
  trace::TestTrace trace;
  void* mapped = MAP_FAILED;
  profile::Observations found;
};

TEST_F(OwnContent, CopiesAreCountedSampledOrNot) {
  const Block a(kText, 'a'), also(kText, 'a'), not_sampled(kText, 'a'), other(kText, 'b'),
      longer(2 * kText, 'a');
  const auto first = sample(a.start(), kText), second = sample(also.start(), kText),
             unique = sample(other.start(), kText);
  read();
  EXPECT_EQ(of(first).copies, 3U);
  EXPECT_EQ(of(first).most_copies, 3U);
  EXPECT_EQ(of(second).copies, 3U);
  EXPECT_EQ(of(unique).copies, 1U);
  EXPECT_EQ(of(unique).most_copies, 1U);
  EXPECT_EQ(of(unique).zero, 0U);
}

TEST_F(OwnContent, FreedBlocksAreNoCopies) {
  const Block kept(kText, 'c');
  for (int i = 0; i < 100; ++i) const Block freed(kText, 'c');
  const auto only = sample(kept.start(), kText);
  read();
  EXPECT_EQ(of(only).most_copies, 1U);
}

TEST_F(OwnContent, ZeroBytesAreCountedAndWhollyZeroObjectsAreNoCandidates) {
  const Block half(kText, 'd'), blank(kText, 0), also(kText, 0);
  std::memset(half.start() + 10, 0, kText / 2);
  const auto some = sample(half.start(), kText), none = sample(blank.start(), kText);
  read();
  EXPECT_EQ(of(some).zero, kText / 2);
  EXPECT_EQ(of(none).zero, kText);
  EXPECT_EQ(of(none).most_copies, 1U);
}

TEST_F(OwnContent, ObjectsOfClassesAndSmallOnesAreNoDuplicates) {
  struct Polymorphic {
    virtual ~Polymorphic() = default;
    std::uint64_t value[4] = {1, 2, 3, 4};
  };
  const auto a = std::make_unique<Polymorphic>(), b = std::make_unique<Polymorphic>();
  const Block small(8, 'e'), also(8, 'e');
  const auto of_class = sample(a.get(), sizeof *a), tiny = sample(small.start(), 8);
  read();
  EXPECT_EQ(of(of_class).most_copies, 1U);
  EXPECT_EQ(of(tiny).most_copies, 1U);
}

TEST_F(OwnContent, WhatCannotBeReadIsNotKnown) {
  const auto map = [](int protection, int flags) {
    return ::mmap(nullptr, kMiB, protection, flags | MAP_ANONYMOUS, -1, 0);
  };
  void* untouched = map(PROT_READ | PROT_WRITE, MAP_PRIVATE);
  void* shared = map(PROT_READ | PROT_WRITE, MAP_SHARED);
  void* hidden = map(PROT_NONE, MAP_PRIVATE);
  void* unmapped = map(PROT_READ | PROT_WRITE, MAP_PRIVATE);
  ::munmap(unmapped, kMiB);
  const auto zero = sample(untouched, kMiB);
  const trace::Ref others[] = {sample(shared, kMiB), sample(hidden, kMiB), sample(unmapped, kMiB)};
  read();
  EXPECT_EQ(of(zero).zero, kMiB);
  EXPECT_EQ(of(zero).unread, 0U);
  for (const trace::Ref other : others) {
    EXPECT_EQ(of(other).zero, 0U);
    EXPECT_EQ(of(other).unread, kMiB);
    EXPECT_EQ(of(other).most_copies, kAnyCopies);
  }
  for (void* start : {untouched, shared, hidden}) ::munmap(start, kMiB);
}

TEST_F(OwnContent, OfOtherAllocatorsCopiesAreBoundedFromAbove) {
  std::strcpy(trace.header().allocator, "/lib/libother.so");
  const Block a(kText, 'f'), also(kText, 'f'), other(kText, 'g');
  std::memcpy(also.start(), "unlike", 6);
  std::memcpy(a.start(), "unlike", 6);
  std::memcpy(other.start(), "unique", 6);
  const auto equal = sample(a.start(), kText), unique = sample(other.start(), kText);
  read();
  EXPECT_EQ(of(equal).copies, 1U);
  EXPECT_GE(of(equal).most_copies, 2U);
  EXPECT_EQ(of(unique).most_copies, 1U);
}

TEST_F(OwnContent, AnotherProcessHasNone) {
  read();
  EXPECT_TRUE(found.last_content);
  ::munmap(mapped, kMiB);
  const auto again = read_copy(files.path("a.geiger"));
  EXPECT_FALSE(again.last_content);
  EXPECT_EQ(again.content_fault, "it does not write this trace any more");
}

}  // namespace
}  // namespace geiger::content
