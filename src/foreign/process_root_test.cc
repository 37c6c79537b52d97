#include "foreign/process_root.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace geiger::foreign {
namespace {

/// A child process that waits, below a root of its own if `root` is not empty. The destructor ends
/// it.
class Child {
 public:
  explicit Child(const std::string& root, uid_t user = geteuid()) : pid_(fork()) {
    if (pid_ != 0) return;
    if (!root.empty() && (chroot(root.c_str()) != 0 || chdir("/") != 0)) _exit(1);
    if (user != geteuid() && setuid(user) != 0) _exit(1);
    while (true) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Its root, once it is this directory.
  [[nodiscard]] ProcessRoot await_root(const std::string& directory) const {
    for (int i = 0; i < 10'000; ++i) {
      const auto root = ProcessRoot::open(pid_);
      // It may have been opened before, and read after the change.
      if (root && root->path_inside(directory + "/x") == "/x") break;
      usleep(1000);
    }
    return std::move(*ProcessRoot::open(pid_));
  }

 private:
  pid_t pid_;
};

/// Where the process has the first page of its C library.
MappedAs loaded_libc(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/libc.so.6") == line.npos) continue;
    MappedAs file;
    std::istringstream words(line);
    char dash = 0;
    std::string flags, offset;
    words >> std::hex >> file.begin >> dash >> file.end >> flags >> offset >> file.device >>
        std::dec >> file.inode >> file.path;
    return file;
  }
  return {};
}

ino_t inode_of(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

TEST(ProcessRoot, IsOursWhereBothSeeTheSameFiles) {
  const Child child("");
  const auto root = ProcessRoot::open(child.pid());
  ASSERT_TRUE(root);
  const MappedAs libc = loaded_libc(child.pid());
  ASSERT_FALSE(libc.path.empty());
  EXPECT_EQ(root->shown_path(libc), libc.path);
  EXPECT_EQ(root->path_inside("/usr/x"), "/usr/x");
  EXPECT_TRUE(root->sees_same(libc.path));
  EXPECT_TRUE(root->has_proc());
  EXPECT_EQ(inode_of(root->open_mapped(libc, O_RDONLY).get()), libc.inode);
}

TEST(ProcessRoot, OpensWhatTheProcessMayRead) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  constexpr uid_t kNobody = 65534;
  char directory[] = "/tmp/process-root-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string top(directory);
  ASSERT_EQ(chmod(directory, 0755), 0);
  for (const char* name : {"/open", "/secret"}) std::ofstream(top + name) << "text";
  ASSERT_EQ(chmod((top + "/secret").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/secret", (top + "/link").c_str()), 0);
  ASSERT_EQ(mkfifo((top + "/fifo").c_str(), 0666), 0);
  const Child child(directory, kNobody);
  auto root = child.await_root(directory);
  while (root.rights().user != kNobody) root = child.await_root(directory);
  EXPECT_TRUE(root.open_readable("/open").is_open());
  for (const char* name : {"/secret", "/link", "/fifo", "/", "", "/../open/x"}) {
    EXPECT_FALSE(root.open_readable(name).is_open()) << name;
  }
  for (const char* name : {"/open", "/secret", "/link", "/fifo"}) unlink((top + name).c_str());
  rmdir(directory);
}

TEST(ProcessRoot, RefusesAFileThatIsAnother) {
  const Child child("");
  const auto root = ProcessRoot::open(child.pid());
  ASSERT_TRUE(root);
  MappedAs libc = loaded_libc(child.pid());
  ++libc.inode;
  EXPECT_EQ(root->shown_path(libc), "");
  EXPECT_FALSE(root->open_mapped(libc, O_RDONLY).is_open());
}

TEST(ProcessRoot, AfterAChrootStartsAtTheNewRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  char directory[] = "/tmp/process-root-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const Child child(directory);
  const ProcessRoot root = child.await_root(directory);
  EXPECT_EQ(root.path_inside(std::string(directory) + "/traces/a"), "/traces/a");
  EXPECT_EQ(root.path_inside("/elsewhere/a"), "/elsewhere/a");
  EXPECT_FALSE(root.has_proc());
  // Mapped before: it is not below the new root, and the maps show our path.
  const MappedAs libc = loaded_libc(child.pid());
  EXPECT_EQ(root.shown_path(libc), libc.path);
  // Mapped, and then not reachable by any path: opens the mapping itself.
  MappedAs hidden = libc;
  hidden.path = "/nowhere/libc.so.6";
  EXPECT_NE(root.shown_path(hidden).find("/map_files/"), std::string::npos);
  EXPECT_EQ(inode_of(root.open_mapped(hidden, O_RDONLY).get()), libc.inode);
  rmdir(directory);
}

TEST(ProcessRoot, MakesADirectoryThatIsTheProcessesAndLeavesNothing) {
  char directory[] = "/tmp/process-root-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const Child child("");
  const auto root = ProcessRoot::open(child.pid());
  ASSERT_TRUE(root);
  const auto made = root->make_directory(directory);
  ASSERT_TRUE(made);
  EXPECT_TRUE(is_own_and_empty(made->directory.get(), geteuid()));
  root->remove(std::string(directory) + "/" + made->name, AT_REMOVEDIR);
  EXPECT_EQ(rmdir(directory), 0) << "it is empty";
}

TEST(ProcessRoot, MakesNoDirectoryBehindALink) {
  char directory[] = "/tmp/process-root-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string link = std::string(directory) + ".link";
  ASSERT_EQ(symlink(directory, link.c_str()), 0);
  const Child child("");
  const auto root = ProcessRoot::open(child.pid());
  ASSERT_TRUE(root);
  EXPECT_FALSE(root->make_directory(link));
  EXPECT_EQ(rmdir(directory), 0) << "it is empty";
  unlink(link.c_str());
}

TEST(ProcessRoot, OfAProcessThatIsGoneIsNone) { EXPECT_FALSE(ProcessRoot::open(0x7ffffff0)); }

TEST(NewDirectories, AreGivenAwayOnlyIfTheyAreNewAndOurs) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  constexpr uid_t kNobody = 65534;
  char directory[] = "/tmp/process-root-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const base::UniqueFd made(open(directory, O_RDONLY | O_DIRECTORY));
  const std::string file = std::string(directory) + "/file";
  std::ofstream(file.c_str()).close();
  EXPECT_FALSE(give_away(made.get(), kNobody, kNobody)) << "not empty";
  unlink(file.c_str());
  chmod(directory, 0755);
  EXPECT_FALSE(give_away(made.get(), kNobody, kNobody)) << "others may look into it";
  chmod(directory, 0700);
  EXPECT_TRUE(give_away(made.get(), kNobody, kNobody));
  EXPECT_FALSE(give_away(made.get(), 0, 0)) << "no longer ours";
  rmdir(directory);
}

}  // namespace
}  // namespace geiger::foreign
