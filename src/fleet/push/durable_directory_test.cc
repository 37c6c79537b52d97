#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "fleet/push/spool.h"

namespace geiger::fleet {
namespace {

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() {
    std::string pattern = testing::TempDir() + "directory-XXXXXX";
    root_ = mkdtemp(pattern.data());
    path_ = root_ + "/spool";
  }
  ~DirectoryTest() override { std::filesystem::remove_all(root_); }

  static int mode_of(const std::string& path) {
    struct stat file {};
    return lstat(path.c_str(), &file) == 0 ? static_cast<int>(file.st_mode & 07777) : -1;
  }
  std::string why() { return Spool::open(path_, Spool::kMostBytes, {}).reason(); }

  std::string root_, path_;
};

TEST_F(DirectoryTest, WhatASpoolHasIsForItsOwnerWhateverTheUmask) {
  for (const mode_t mask : {0U, 022U}) {
    std::filesystem::remove_all(path_);
    const mode_t before = umask(mask);
    {
      const auto spool = Spool::open(path_, Spool::kMostBytes, {});
      ASSERT_TRUE(spool.has_value()) << spool.reason();
      EXPECT_TRUE(spool->state().write("a.state", "bytes").has_value());
    }
    umask(before);
    for (const char* name : {"", "/waiting", "/refused", "/state"}) {
      EXPECT_EQ(mode_of(path_ + name), 0700) << name;
    }
    for (const char* name : {"/lock", "/state/a.state"}) EXPECT_EQ(mode_of(path_ + name), 0600);
  }
}

TEST_F(DirectoryTest, RootUsesNoSpoolThatOthersCouldHaveWritten) {
  if (geteuid() != 0) GTEST_SKIP() << "is about root";
  for (const std::string name : {"", "/waiting", "/state"}) {
    ASSERT_EQ(why(), "");
    ASSERT_EQ(chmod((path_ + name).c_str(), 0777), 0);
    EXPECT_NE(why().find("other users can write it; chmod go-w " + path_ + name), why().npos);
    ASSERT_EQ(chmod((path_ + name).c_str(), 0700), 0);
    ASSERT_EQ(chown((path_ + name).c_str(), 65534, 65534), 0);
    EXPECT_EQ(why(), path_ + name + ": is not root's");
    ASSERT_EQ(chown((path_ + name).c_str(), 0, 0), 0);
  }
  ASSERT_EQ(chmod((path_ + "/state").c_str(), 01777), 0);
  EXPECT_NE(why(), "");
  ASSERT_EQ(chmod((path_ + "/state").c_str(), 0700), 0);
  ASSERT_EQ(chmod(path_.c_str(), 01777), 0);
  EXPECT_EQ(why(), "") << "as a volume";
}

TEST_F(DirectoryTest, LinksInsideAreNotFollowed) {
  ASSERT_EQ(why(), "");
  std::filesystem::create_directory(root_ + "/other");
  std::ofstream(root_ + "/file") << "kept";
  std::filesystem::remove(path_ + "/state");
  std::filesystem::create_directory_symlink(root_ + "/other", path_ + "/state");
  EXPECT_NE(why(), "");
  std::filesystem::remove(path_ + "/state");
  const auto spool = Spool::open(path_, Spool::kMostBytes, {});
  for (const char* name : {"a", "b.tmp"}) {
    std::filesystem::create_symlink(root_ + "/file", path_ + "/state/" + name);
  }
  EXPECT_FALSE(spool->state().read("a", 100).has_value());
  EXPECT_FALSE(spool->state().write("b", "lost").has_value());
  EXPECT_EQ(std::filesystem::file_size(root_ + "/file"), 4U);
}

TEST_F(DirectoryTest, ADirectoryThatIsPutInItsPlaceIsNotUsed) {
  const auto directory = DurableDirectory::open(path_);
  ASSERT_TRUE(directory->write("a", "ours").has_value());
  std::filesystem::rename(path_, root_ + "/moved");
  std::filesystem::create_directory(path_);
  std::ofstream(path_ + "/a") << "theirs";
  EXPECT_EQ(directory->read("a", 100).value(), "ours");
  EXPECT_TRUE(directory->write("b", "ours").has_value());
  EXPECT_FALSE(std::filesystem::exists(path_ + "/b"));
}

}  // namespace
}  // namespace geiger::fleet
