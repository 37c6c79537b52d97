#include "base/raw_syscall.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace geiger::base {
namespace {

/// Puts things back as they were.
class Confined {
 public:
  explicit Confined(Confinement to) { confinement = to; }
  Confined(const Confined&) = delete;
  Confined& operator=(const Confined&) = delete;
  ~Confined() { confinement = Confinement::kNone; }
};

TEST(RawSyscall, AnswersAsTheKernelDoes) {
  EXPECT_EQ(raw_syscall(SYS_getpid), getpid());
  EXPECT_TRUE(is_error(raw_syscall(SYS_close, -1)));
  EXPECT_FALSE(is_error(0));
  EXPECT_TRUE(is_error(-4095));
  EXPECT_FALSE(is_error(-4096));  // An address.
}

TEST(RawSyscall, IsNotMadeByWhoConfinesItself) {
  const Confined confined(Confinement::kTotal);
  EXPECT_EQ(raw_syscall(SYS_getpid), kRefused);
  EXPECT_EQ(raw_syscall(SYS_munmap, 0, 0), kRefused);
}

TEST(RawSyscall, MayBeOneThatAllocatorsMake) {
  const Confined confined(Confinement::kToAllocators);
  EXPECT_EQ(raw_syscall(SYS_getpid), kRefused);
  const long page = raw_syscall(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_FALSE(is_error(page));
  EXPECT_EQ(raw_syscall(SYS_munmap, page, 4096), 0);
}

}  // namespace
}  // namespace geiger::base
