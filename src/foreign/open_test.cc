#include "foreign/open.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace geiger::foreign {
namespace {

namespace fs = std::filesystem;

/// inside/ is the root; outside/ must not be reached from it.
class Below : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(top_.data()), nullptr);
    fs::create_directories(top_ + "/inside/a/b");
    fs::create_directory(top_ + "/outside");
    std::ofstream(top_ + "/outside/secret") << "secret";
    std::ofstream(top_ + "/inside/a/b/file") << "file";
    fs::create_symlink("/a", top_ + "/inside/absolute");
    fs::create_symlink("a/b", top_ + "/inside/relative");
    fs::create_symlink("../outside", top_ + "/inside/up");
    fs::create_symlink(top_ + "/outside", top_ + "/inside/out");
    fs::create_symlink(top_ + "/outside/secret", top_ + "/inside/a/link");
    ASSERT_EQ(mkfifo((top_ + "/inside/a/fifo").c_str(), 0600), 0);
    root_ = base::UniqueFd(open((top_ + "/inside").c_str(), O_PATH | O_DIRECTORY));
  }
  void TearDown() override { fs::remove_all(top_); }

  [[nodiscard]] bool opens(const std::string& path, Links links) const {
    return open_below(root_.get(), path, O_RDONLY, links).is_open();
  }

  std::string top_ = "/tmp/geiger-below-XXXXXX";
  base::UniqueFd root_;
};

TEST_F(Below, LinksEndBelowTheDirectory) {
  EXPECT_TRUE(opens("/a/b/file", Links::kBelow));
  EXPECT_TRUE(opens("absolute/b/file", Links::kBelow));
  EXPECT_TRUE(opens("/relative/file", Links::kBelow));
  EXPECT_TRUE(opens("/", Links::kBelow));
  EXPECT_TRUE(opens("/../../a/b/file", Links::kBelow)) << "the root has no parent";
  EXPECT_FALSE(opens("/up/secret", Links::kBelow));
  EXPECT_FALSE(opens("/out/secret", Links::kBelow));
  EXPECT_FALSE(opens("/../outside/secret", Links::kBelow));
}

TEST_F(Below, NoneMeansThatNoPartIsALink) {
  EXPECT_TRUE(opens("/a/b/file", Links::kNone));
  for (const char* path : {"/absolute", "/absolute/b/file", "/relative/file", "/a/link"}) {
    errno = 0;
    EXPECT_FALSE(opens(path, Links::kNone)) << path;
    EXPECT_EQ(errno, ELOOP) << path;
  }
}

TEST_F(Below, AnEntryIsNotALink) {
  const base::UniqueFd a = open_below(root_.get(), "/a", O_RDONLY | O_DIRECTORY, Links::kNone);
  EXPECT_TRUE(open_entry(a.get(), "b", O_RDONLY | O_DIRECTORY).is_open());
  EXPECT_TRUE(open_entry(a.get(), "fifo", O_PATH).is_open());
  EXPECT_FALSE(open_entry(a.get(), "link", O_RDONLY).is_open());
  EXPECT_FALSE(open_entry(a.get(), "..", O_RDONLY | O_DIRECTORY).is_open());
  const base::UniqueFd made = open_entry(a.get(), "new", O_RDWR | O_CREAT | O_EXCL, 0600);
  EXPECT_TRUE(made.is_open());
  struct stat status {};
  ASSERT_EQ(fstat(made.get(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(Below, RegularFilesOnly) {
  EXPECT_TRUE(open_regular(top_ + "/inside/a/link", O_RDONLY).is_open());
  EXPECT_FALSE(open_regular(top_ + "/inside/a/link", O_RDONLY | O_NOFOLLOW).is_open());
  EXPECT_EQ(errno, ELOOP);
  EXPECT_FALSE(open_regular(top_ + "/inside/a/fifo", O_RDONLY).is_open());
  EXPECT_FALSE(open_regular(top_ + "/inside/a", O_RDONLY).is_open());
  EXPECT_FALSE(open_regular("/dev/null", O_RDWR).is_open());
  EXPECT_EQ(errno, EINVAL);
  EXPECT_FALSE(open_regular(top_ + "/inside/nothing", O_RDONLY).is_open());
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace geiger::foreign
