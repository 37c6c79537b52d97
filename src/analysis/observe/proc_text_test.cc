#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "analysis/observe/proc_files.h"

namespace geiger::observe {
namespace {

const std::string kStatus =
    "Name:\tVmRSS: 1 kB\nVmHWM:\t    2000 kB\nVmRSS:\t    1200 kB\nRssAnon:\t     700 kB\n"
    "RssFile:\t     400 kB\nRssShmem:\t     100 kB\nVmSwap:\t      32 kB\n"
    "Seccomp:\t2\nSeccomp_filters:\t3\n";

const std::string kSmaps =
    "55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]\n"
    "Size:                132 kB\nRss:                  64 kB\nPss:                  64 kB\n"
    "Swap:                  8 kB\nSwapPss:               8 kB\nVmFlags: rd wr mr mw me ac \n"
    "7f0000000000-7f0000002000 r-xp 00001000 fe:00 1234   /usr/lib/a b (deleted)\n"
    "Rss:                   4 kB\n"
    "7ffd00000000-7ffd00021000 rw-s 00000000 00:00 7 /memfd:x\nRss: 99999999 kB\n";

TEST(ProcText, ReadsStatus) {
  const auto status = parse_status(kStatus);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->counts.resident, 1200 * kKiB);
  EXPECT_EQ(status->counts.anonymous, 700 * kKiB);
  EXPECT_EQ(status->counts.file, 400 * kKiB);
  EXPECT_EQ(status->counts.shared, 100 * kKiB);
  EXPECT_EQ(status->counts.swapped, 32 * kKiB);
  EXPECT_EQ(status->high_water, 2000 * kKiB);
  EXPECT_EQ(status->confinement, (Confinement{2, 3}));
}

TEST(ProcText, AProcessWithoutMemoryIsNone) {
  EXPECT_FALSE(parse_status(""));
  EXPECT_FALSE(parse_status("Name:\tzombie\nState:\tZ (zombie)\n"));
  EXPECT_FALSE(parse_status("VmRSS: 12 MB\nVmRSS: x kB\nVmRSS 12 kB\nVmRSS: 12\nVmRSS:"));
  EXPECT_FALSE(parse_status("VmRSS: 99999999999999999999 kB\n"));
}

TEST(ProcText, ReadsSmaps) {
  const auto mappings = parse_smaps(kSmaps);
  ASSERT_EQ(mappings.size(), 3U);
  EXPECT_EQ(mappings[0].path, "[heap]");
  EXPECT_EQ(mappings[0].start, 0x55d0c0000000U);
  EXPECT_EQ(mappings[0].end, 0x55d0c0021000U);
  EXPECT_EQ(mappings[0].resident, 64 * kKiB);
  EXPECT_EQ(mappings[0].swapped, 8 * kKiB);
  EXPECT_TRUE(mappings[0].is_writable);
  EXPECT_EQ(mappings[1].path, "/usr/lib/a b (deleted)");
  EXPECT_EQ(mappings[1].inode, 1234U);
  EXPECT_FALSE(mappings[1].is_writable);
  EXPECT_TRUE(mappings[2].is_shared);
  EXPECT_EQ(mappings[2].resident, 0x21000U) << "no more than its size";
}

TEST(ProcText, PassesOverWhatMakesNoSense) {
  EXPECT_TRUE(parse_smaps("").empty());
  EXPECT_TRUE(parse_smaps("Rss: 12 kB\nnonsense\n-\n\n").empty());
  EXPECT_TRUE(parse_smaps("2000-1000 rw-p 0 0:0 0\nRss: 4 kB\n").empty());
  EXPECT_TRUE(parse_smaps("1000-zz00 rw-p 0 0:0 0\n").empty());
  EXPECT_TRUE(parse_smaps("1000-2000 rw 0 0:0 0\n").empty());
  // The fields of a mapping that overlaps are not those of the one above.
  const auto mappings =
      parse_smaps("1000-3000 rw-p 0 0:0 0 \nRss: 4 kB\n2000-4000 rw-p 0 0:0 0\nRss: 8 kB\n");
  ASSERT_EQ(mappings.size(), 1U);
  EXPECT_EQ(mappings[0].resident, 4 * kKiB);
  EXPECT_EQ(mappings[0].path, "");
}

/// Any bytes: nothing but that the sanitizers see nothing and that order holds.
TEST(ProcText, AnyBytesAreRead) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text = i % 2 == 0 ? kSmaps : kStatus;
    for (int change = 0; change < 8; ++change) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    text.resize(random() % (text.size() + 1));
    static_cast<void>(parse_status(text));
    static_cast<void>(parse_waiting_place(text));
    static_cast<void>(parse_switches(text));
    Address last = 0;
    for (const Mapping& mapping : parse_smaps(text)) {
      EXPECT_LE(last, mapping.start);
      EXPECT_LT(mapping.start, mapping.end);
      EXPECT_LE(mapping.resident, mapping.end - mapping.start);
      last = mapping.end;
    }
  }
}

TEST(ProcText, ReadsTheKernelsOwn) {
  const auto text_of = [](const char* path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto status = parse_status(text_of("/proc/self/status"));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->counts.resident,
            status->counts.anonymous + status->counts.file + status->counts.shared);
  const auto mappings = parse_smaps(text_of("/proc/self/smaps"));
  EXPECT_THAT(mappings, ::testing::Contains(::testing::Field(&Mapping::path, "[stack]")));
}

TEST(ProcText, ReadsWhereThreadsWait) {
  const WaitingPlace place{0x7ffd1000, 0x7f00};
  EXPECT_EQ(parse_waiting_place("7 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd1000 0x7f00\n"), place);
  EXPECT_EQ(parse_waiting_place("-1 0x7ffd1000 0x7f00\n"), place);
  EXPECT_FALSE(parse_waiting_place("running\n"));
  EXPECT_FALSE(parse_waiting_place(""));
  EXPECT_FALSE(parse_waiting_place("-1 12 0x7f00"));
  EXPECT_FALSE(parse_waiting_place("-1 0x7ffd1000 12"));
}

TEST(ProcText, ReadsHowOftenAThreadStopped) {
  EXPECT_EQ(parse_switches("Name:\tx\nvoluntary_ctxt_switches:\t40\n"
                           "nonvoluntary_ctxt_switches:\t2\n"),
            42U);
  EXPECT_FALSE(parse_switches("voluntary_ctxt_switches:\t40\n"));
  EXPECT_FALSE(parse_switches(""));
}

}  // namespace
}  // namespace geiger::observe
