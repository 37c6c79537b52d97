#include "inject/process_path.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "inject/remote_modules.h"

namespace geiger::inject {
namespace {

/// A child process that waits, below a root of its own if `root` is not empty. The destructor ends
/// it.
class Child {
 public:
  explicit Child(const std::string& root) : pid_(fork()) {
    if (pid_ != 0) return;
    if (!root.empty() && (chroot(root.c_str()) != 0 || chdir("/") != 0)) _exit(1);
    while (true) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Waits until its root is this directory.
  void await_root(const std::string& root) const {
    for (int i = 0; i < 10'000 && path_inside(pid_, root + "/x") != "/x"; ++i) usleep(1000);
  }

 private:
  pid_t pid_;
};

MappedAs loaded_libc(pid_t pid) {
  const auto modules = named_modules_of(pid);
  const RemoteModule* libc = first_of(modules, ModuleKind::kLibc);
  if (libc == nullptr) return {};
  return {libc->path, libc->device, libc->inode, libc->base, libc->first_end};
}

TEST(ProcessPath, IsOursWhereBothSeeTheSameFile) {
  const Child child("");
  const MappedAs libc = loaded_libc(child.pid());
  ASSERT_FALSE(libc.path.empty());
  EXPECT_EQ(path_here(child.pid(), libc), libc.path);
  EXPECT_EQ(path_inside(child.pid(), "/usr/x"), "/usr/x");
}

TEST(ProcessPath, IsRefusedWhereTheFileIsAnother) {
  const Child child("");
  MappedAs libc = loaded_libc(child.pid());
  ++libc.inode;
  EXPECT_EQ(path_here(child.pid(), libc), "");
}

TEST(ProcessPath, AfterAChrootStartsAtTheNewRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  char root[] = "/tmp/process-path-XXXXXX";
  ASSERT_NE(mkdtemp(root), nullptr);
  const Child child(root);
  child.await_root(root);
  EXPECT_EQ(path_inside(child.pid(), std::string(root) + "/traces/a"), "/traces/a");
  EXPECT_EQ(path_inside(child.pid(), "/elsewhere/a"), "/elsewhere/a");
  // Mapped before: it is not below the new root, and the maps show our path.
  const MappedAs libc = loaded_libc(child.pid());
  EXPECT_EQ(path_here(child.pid(), libc), libc.path);
  // Mapped, and then not reachable by any path: opens the mapping itself.
  MappedAs hidden = libc;
  hidden.path = "/nowhere/libc.so.6";
  EXPECT_TRUE(is_mapping_link(path_here(child.pid(), hidden)));
  rmdir(root);
}

TEST(ProcessPath, OfAProcessThatIsGoneIsNone) {
  EXPECT_EQ(path_here(0x7ffffff0, {"/nowhere", "00:00", 1, 0x1000, 0x2000}), "");
  EXPECT_EQ(path_inside(0x7ffffff0, "/x"), "/x");
}

}  // namespace
}  // namespace geiger::inject
