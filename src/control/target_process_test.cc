#include "control/target_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "control/control_page.h"

namespace geiger::control {
namespace {

using testing::HasSubstr;

constexpr const char* kStat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99 20\n";
constexpr const char* kStatus =
    "Name:\tx\nState:\tS (sleeping)\nTgid:\t7\nUid:\t1\t2\t3\t4\nNSpid:\t7\t42\nSeccomp:\t2\n";

TEST(ProcessFacts, AreReadFromBothTexts) {
  const auto facts = parse_facts(7, kStatus, kStat);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->user, 2U);
  EXPECT_EQ(facts->inner_pid, 42U);
  EXPECT_EQ(facts->start_ticks, 99U);
  EXPECT_EQ(facts->name, "a) b");
  EXPECT_EQ(facts->confinement, (observe::Confinement{2, 0}));
  EXPECT_FALSE(facts->is_zombie);
}

TEST(ProcessFacts, AreNoneOfOtherTexts) {
  EXPECT_FALSE(parse_facts(7, "", kStat));
  EXPECT_FALSE(parse_facts(7, kStatus, ""));
  EXPECT_FALSE(parse_facts(7, "State:\nTgid:\nUid:\n", kStat));
  EXPECT_FALSE(parse_facts(7, "State:\tS\nTgid:\t7\nUid:\t1\tx\n", kStat));
}

TEST(MappedFiles, AreEachNamedOnce) {
  const auto files = mapped_files_in(
      "1000-2000 r-xp 00000000 08:01 11 /lib/libgeiger-preload.so\n"
      "2000-3000 rw-p 00001000 08:01 11 /lib/libgeiger-preload.so\n"
      "3000-4000 rw-s 00000000 08:01 12 /run with blank/p.7.0.geiger\n"
      "4000-5000 rw-p 00000000 08:01 13 /private.geiger\n"
      "5000-6000 r--s 00000000 08:01 14 /tmp/geiger-0/bell\n"
      "6000-7000 r--s 00000000 08:01 15 /tmp/other/bell\n"
      "7000-8000 rw-p 00000000 00:00 0 [heap]\n");
  EXPECT_EQ(files.size(), 5U);
  const GeigerFiles found = geiger_files_in(files);
  EXPECT_TRUE(found.has_runtime);
  ASSERT_EQ(found.traces.size(), 1U);
  EXPECT_EQ(found.traces[0].path, "/run with blank/p.7.0.geiger");
  ASSERT_TRUE(found.bell);
  EXPECT_EQ(found.bell->inode, 14U);
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
  EXPECT_GT(target.value().facts().start_ticks, 0U);
  EXPECT_TRUE(target.value().geiger_files().has_value());
  EXPECT_FALSE(target.value().geiger_files().value().has_runtime);
  close(ends[1]);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  EXPECT_FALSE(target.value().is_alive());
}

// ---- marks ---------------------------------------------------------------------------

class Marks : public testing::Test {
 protected:
  trace::ControlPage page_{};
  void take(std::size_t slot) { page_.marks[slot].taken.store(page_.marks[slot].sequence.load()); }
};

TEST_F(Marks, ArePublishedWhole) {
  const auto mark = post_mark(page_, 99, "warm");
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->sequence, 2U);
  const trace::ControlMark& slot = page_.marks[mark->slot];
  EXPECT_EQ(slot.time, 99U);
  EXPECT_EQ(std::string(slot.text, slot.text_bytes), "warm");
  EXPECT_FALSE(is_taken(page_, *mark));
  take(mark->slot);
  EXPECT_TRUE(is_taken(page_, *mark));
}

TEST_F(Marks, AreCutToWhatASlotHolds) {
  ASSERT_TRUE(post_mark(page_, 1, std::string(1000, 'x')));
  EXPECT_EQ(page_.marks[0].text_bytes, kMostMarkBytes);
}

TEST_F(Marks, WaitForASlotThatNobodyFills) {
  page_.marks[3].sequence = 5;  // The controller died while filling it.
  for (std::size_t i = 0; i + 1 < trace::kControlMarks; ++i) EXPECT_TRUE(post_mark(page_, i, "m"));
  EXPECT_FALSE(post_mark(page_, 9, "m"));
  take(6);
  const auto mark = post_mark(page_, 10, "m");
  ASSERT_TRUE(mark);
  EXPECT_EQ(mark->slot, 6U);
  EXPECT_EQ(mark->sequence, 4U);
}

}  // namespace
}  // namespace geiger::control
