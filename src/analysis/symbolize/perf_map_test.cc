#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <random>

#include "analysis/symbolize/elf/test_programs.h"
#include "analysis/symbolize/outside_names.h"

namespace geiger::symbolize {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(PerfMap, ReturnAddressesBelongToTheCallBeforeThem) {
  const std::vector<Address> addresses = {0x1000, 0x1001, 0x1010, 0x1011};
  EXPECT_THAT(look_up_perf_map("1000 10 f\n", addresses), ElementsAre("", "f", "f", ""));
}

TEST(PerfMap, LaterLinesWin) {
  const std::vector<Address> addresses = {0x1001, 0x1011, 0x1021, 0x1031};
  const std::string_view map = "1000 40 old\n1010 10 new\n1018 8 newest";
  EXPECT_THAT(look_up_perf_map(map, addresses), ElementsAre("old", "new", "old", "old"));
}

TEST(PerfMap, NamesMayHaveBlanksAndNumbersAPrefix) {
  const std::vector<Address> addresses = {0x1001};
  EXPECT_THAT(look_up_perf_map("0x1000 0x10 LazyCompile:~f /a b.js:1\r\n", addresses),
              ElementsAre("LazyCompile:~f /a b.js:1"));
}

TEST(PerfMap, BadLinesArePassedOver) {
  const std::vector<Address> addresses = {0x1001};
  const std::string_view map =
      "\n\nhello\n1000\n1000 \n1000 10\n1000 10 \nxyz 10 a\n1000 zz b\n-5 5 c\n"
      "ffffffffffffffff 2 wraps\n123456789012345678901 1 huge\n1000 10 good\n1000";
  EXPECT_THAT(look_up_perf_map(map, addresses), ElementsAre("good"));
}

TEST(PerfMap, OverlappingLinesTakeLinearTime) {
  std::string map;
  for (int i = 0; i < 100'000; ++i) map += "0 ffffffff all\n";
  std::vector<Address> addresses;
  for (Address i = 1; i <= 50'000; ++i) addresses.push_back(i * 16);
  EXPECT_THAT(look_up_perf_map(map, addresses), Each("all"));
}

struct Line {
  Address start, size;
};

/// The last line that holds the call before `address`.
std::string simple_name(const std::vector<Line>& lines, Address address) {
  std::string name;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const Address call = address - 1;
    if (call >= lines[k].start && call < lines[k].start + lines[k].size) {
      name = "f" + std::to_string(k);
    }
  }
  return name;
}

TEST(PerfMap, AgreesWithTheSimpleRule) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Line> lines;
    std::string map;
    for (int i = 0; i < 20; ++i) {
      lines.push_back({random() % 100, random() % 30});
      std::array<char, 64> text{};
      std::snprintf(text.data(), text.size(), "%" PRIx64 " %" PRIx64 " f%d\n", lines.back().start,
                    lines.back().size, i);
      map += text.data();
    }
    std::vector<Address> addresses;
    for (Address address = 1; address < 140; ++address) addresses.push_back(address);
    const auto names = look_up_perf_map(map, addresses);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      ASSERT_EQ(names[i], simple_name(lines, addresses[i]));
    }
  }
}

TEST(PerfMap, OnlyRecentRegularFilesAreRead) {
  const ScratchDirectory directory;
  const std::string root = directory.path("");
  write_file(directory.path("perf-1.map"), "1 1 f\n");
  ASSERT_TRUE(run("mkfifo " + directory.path("perf-2.map")));
  ASSERT_TRUE(run("ln -s perf-1.map " + directory.path("perf-3.map")));
  EXPECT_EQ(read_perf_map(root, {.pid = 1}), "1 1 f\n");
  EXPECT_FALSE(read_perf_map(root, {.pid = 2}));
  EXPECT_FALSE(read_perf_map(root, {.pid = 3}));
  EXPECT_FALSE(read_perf_map(root, {.pid = 4}));
  const Nanoseconds far_future = 8'000'000'000'000'000'000U;  // The year 2223.
  EXPECT_FALSE(read_perf_map(root, {.pid = 1, .not_before = far_future}));
}

TEST(PerfMap, OnlyOurUsersFilesAreRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const ScratchDirectory directory;
  const std::string root = directory.path("");
  write_file(directory.path("perf-1.map"), "1 1 f\n");
  ASSERT_EQ(::chown(directory.path("perf-1.map").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(read_perf_map(root, {.pid = 1}));
  EXPECT_FALSE(read_perf_map(root, {.pid = 1, .user = 12346}));
  EXPECT_EQ(read_perf_map(root, {.pid = 1, .user = 12345}), "1 1 f\n");
}

TEST(PerfMap, IsLookedUpInTheRootOfTheProcess) {
  const ScratchDirectory directory;
  const std::string root = directory.path("");
  write_file(directory.path("perf-1.map"), "1 1 f\n");
  const auto here = static_cast<std::uint32_t>(::getpid());
  EXPECT_EQ(read_perf_map(root, {.pid = 1, .here = here}), "1 1 f\n");
  // A process that is gone has none.
  EXPECT_EQ(read_perf_map(root, {.pid = 1, .here = 0x7ffffffe}), "1 1 f\n");
}

TEST(PerfMap, OnlyWhatWouldBeReadIsRemoved) {
  const ScratchDirectory directory;
  const std::string root = directory.path("");
  write_file(directory.path("perf-1.map"), "1 1 f\n");
  ASSERT_TRUE(run("ln -s perf-1.map " + directory.path("perf-3.map")));
  const auto is_there = [&](const char* name) {
    struct stat status {};
    return ::lstat(directory.path(name).c_str(), &status) == 0;
  };
  remove_perf_map(root, {.pid = 3});
  EXPECT_TRUE(is_there("perf-3.map"));
  remove_perf_map(root, {.pid = 1, .not_before = 8'000'000'000'000'000'000U});
  EXPECT_TRUE(is_there("perf-1.map"));
  remove_perf_map(root, {.pid = 1});
  EXPECT_FALSE(is_there("perf-1.map"));
}

}  // namespace
}  // namespace geiger::symbolize
