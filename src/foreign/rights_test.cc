#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "foreign/process_root.h"

namespace geiger::foreign {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kStatus =
    "Name:\tUid:\t9\n"
    "Uid:\t1\t2\t3\t4\n"
    "Gid:\t5\t6\t7\t8\n"
    "Groups:\t20 21 \n"
    "CapEff:\t0000010000000002\n";

TEST(Rights, AreThoseForFiles) {
  const auto rights = parse_rights(kStatus);
  ASSERT_TRUE(rights);
  EXPECT_EQ(rights->user, 4U);
  EXPECT_EQ(rights->group, 8U);
  EXPECT_THAT(rights->groups, ElementsAre(20, 21));
  EXPECT_EQ(rights->capabilities, 0x10000000002U);
}

TEST(Rights, NeedAllLines) {
  for (const char* missing : {"Uid:", "Gid:", "CapEff:"}) {
    std::string status = kStatus;
    status.replace(status.rfind(missing), 3, "xxx");
    EXPECT_FALSE(parse_rights(status)) << missing;
  }
  EXPECT_FALSE(parse_rights("Uid:\t1\t2\nGid:\t1\t1\t1\t1\nCapEff:\t0\n"));
  EXPECT_FALSE(parse_rights(""));
}

/// A directory that root owns, with a file for everybody and one for root.
class Acting : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_NE(mkdtemp(root_.data()), nullptr);
    chmod(root_.c_str(), 0755);
    close(open((root_ + "/own").c_str(), O_WRONLY | O_CREAT, 0600));
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] bool can_read() const {
    const int fd = open((root_ + "/own").c_str(), O_RDONLY);
    if (fd >= 0) close(fd);
    return fd >= 0;
  }
  [[nodiscard]] bool can_create() const {
    const std::string path = root_ + "/new";
    return mkdir(path.c_str(), 0700) == 0 && rmdir(path.c_str()) == 0;
  }

  static constexpr Rights kNobody() { return {65534, 65534, {}, 0}; }
  std::string root_ = "/tmp/geiger-rights-XXXXXX";
};

TEST_F(Acting, HasTheOtherUsersRightsAndThenItsOwnAgain) {
  {
    const ActingWith acting(kNobody());
    ASSERT_TRUE(acting.is_in_force());
    EXPECT_FALSE(can_read());
    EXPECT_FALSE(can_create());
  }
  EXPECT_TRUE(can_read());
  EXPECT_TRUE(can_create());
}

TEST_F(Acting, CreatesFilesOfThatUser) {
  chmod(root_.c_str(), 0777);
  const std::string path = root_ + "/its";
  {
    const ActingWith acting(kNobody());
    close(open(path.c_str(), O_WRONLY | O_CREAT, 0600));
  }
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534U);
  EXPECT_EQ(status.st_gid, 65534U);
}

TEST_F(Acting, HasItsGroupsToo) {
  const std::string path = root_ + "/group";
  close(open(path.c_str(), O_WRONLY | O_CREAT, 0));
  ASSERT_EQ(chown(path.c_str(), 0, 4242), 0);
  chmod(path.c_str(), 0040);
  Rights rights = kNobody();
  for (const bool is_member : {false, true}) {
    if (is_member) rights.groups = {4242};
    const ActingWith acting(rights);
    const int fd = open(path.c_str(), O_RDONLY);
    EXPECT_EQ(fd >= 0, is_member);
    if (fd >= 0) close(fd);
  }
}

/// Root in a container, without the right to override modes.
TEST_F(Acting, AlsoTakesCapabilitiesAway) {
  close(open((root_ + "/mine").c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(chown((root_ + "/own").c_str(), 65534, 65534), 0);
  EXPECT_TRUE(can_read());
  const ActingWith acting({0, 0, {}, 0});
  ASSERT_TRUE(acting.is_in_force());
  EXPECT_FALSE(can_read());
  EXPECT_TRUE(can_create());
}

TEST_F(Acting, DoesNotChangeOtherThreads) {
  const ActingWith acting(kNobody());
  bool is_root = false;
  std::thread([&] { is_root = setfsuid(static_cast<uid_t>(-1)) == 0; }).join();
  // A new thread inherits; one that existed before would not. Neither may change the process.
  EXPECT_FALSE(is_root);
  EXPECT_EQ(geteuid(), 0U);
  EXPECT_EQ(getuid(), 0U);
}

/// As `unshare -r` does: root there, without the right to change groups.
TEST(ActingInAUserNamespace, TakesOnWhatItHasAnyway) {
  const pid_t child = fork();
  if (child == 0) {
    const auto put = [](const char* path, const std::string& text) { std::ofstream(path) << text; };
    const std::string user = std::to_string(geteuid()), group = std::to_string(getegid());
    if (unshare(CLONE_NEWUSER) != 0) _exit(2);
    put("/proc/self/setgroups", "deny");
    put("/proc/self/uid_map", "0 " + user + " 1");
    put("/proc/self/gid_map", "0 " + group + " 1");
    std::ifstream status("/proc/self/status");
    const auto rights = parse_rights(std::string{std::istreambuf_iterator<char>(status), {}});
    _exit(geteuid() == 0 && rights && ActingWith(*rights).is_in_force() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no user namespaces here";
  EXPECT_EQ(status, 0);
}

TEST_F(Acting, Nests) {
  const ActingWith outer(kNobody());
  {
    const ActingWith inner(kNobody());
    EXPECT_FALSE(can_read());
  }
  EXPECT_FALSE(can_read());
}

}  // namespace
}  // namespace geiger::foreign
