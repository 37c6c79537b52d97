#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>

#include "analysis/observe/process_memory.h"

namespace geiger::observe {
namespace {

constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kSwapped = std::uint64_t{1} << 62;

Pagemap pagemap_of(std::map<std::uint64_t, std::uint64_t> pages) {
  return {[pages](std::uint64_t first, std::uint64_t* entries, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) {
              const auto found = pages.find(first + i);
              entries[i] = found == pages.end() ? 0 : found->second;
            }
            return count;
          },
          4096};
}

TEST(Pagemap, SharesAPageByTheBytesOnIt) {
  Pagemap pagemap = pagemap_of({{10, kPresent}, {11, kSwapped | 0x123}, {13, kPresent | 5}});
  const RangeResidency found = pagemap.residency(10 * 4096 + 4000, 96 + 4096 + 4096 + 10);
  EXPECT_EQ(found.resident, 96U + 10U);
  EXPECT_EQ(found.swapped, 4096U);
  const RangeResidency small = pagemap.residency(13 * 4096 + 16, 1);
  EXPECT_EQ(small.resident, 1U);
  EXPECT_EQ(pagemap.residency(10 * 4096, 0).resident, 0U);
}

TEST(Pagemap, RangesOfAnySizeAndOrder) {
  Pagemap pagemap =
      pagemap_of({{5, kPresent}, {511, kPresent}, {512, kPresent}, {70000, kPresent}});
  EXPECT_EQ(pagemap.residency(0, 80000 * Bytes{4096}).resident, 4U * 4096);
  EXPECT_EQ(pagemap.residency(5 * 4096, 4096).resident, 4096U) << "backwards";
  EXPECT_EQ(pagemap.residency(~Address{0} - 5, 100).resident, 0U) << "wraps around";
}

TEST(Pagemap, WhatCannotBeReadIsUntouched) {
  Pagemap pagemap([](std::uint64_t, std::uint64_t*, std::size_t) { return 0; }, 4096);
  EXPECT_EQ(pagemap.residency(4096, 4096).resident, 0U);
  EXPECT_EQ(pagemap.pages_read(), 0U);
}

/// Against mincore on memory of our own, of which every third page is touched.
TEST(Pagemap, AgreesWithMincore) {
  constexpr std::size_t kPages = 3000;
  void* map = mmap(nullptr, kPages * 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  madvise(map, kPages * 4096, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kPages; i += 3) static_cast<char*>(map)[i * 4096] = 1;
  const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) GTEST_SKIP() << "no pagemap here";
  Pagemap pagemap(
      [fd](std::uint64_t first, std::uint64_t* entries, std::size_t count) {
        const ssize_t bytes = pread(fd, entries, count * 8, static_cast<off_t>(first * 8));
        return bytes < 0 ? std::size_t{0} : static_cast<std::size_t>(bytes) / 8;
      },
      4096);
  std::vector<unsigned char> core(kPages);
  ASSERT_EQ(mincore(map, kPages * 4096, core.data()), 0);
  Bytes expected = 0;
  for (const unsigned char page : core) expected += (page & 1) != 0 ? 4096 : 0;
  EXPECT_EQ(expected, kPages / 3 * 4096);
  EXPECT_EQ(pagemap.residency(reinterpret_cast<Address>(map), kPages * 4096).resident, expected);
  close(fd);
  munmap(map, kPages * 4096);
}

}  // namespace
}  // namespace geiger::observe
