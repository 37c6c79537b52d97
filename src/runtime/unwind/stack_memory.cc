#include "runtime/unwind/stack_memory.h"

#include "base/raw_syscall.h"

namespace geiger::unwind {
namespace {

constexpr std::uint64_t kPage = 4096;  // Larger pages are checked in parts.
constexpr long kFault = -14;           // -EFAULT
constexpr long kNoSuchHow = -1;

}  // namespace

// rt_sigprocmask reads the set before it looks at `how`: EFAULT if it cannot read it, else EINVAL
// and no effect. Unlike process_vm_readv, nearly every seccomp filter under which a C library can
// run allows it. In a program that confines itself, the call is not made.
bool is_readable(std::uint64_t address) {
  const long result = base::raw_syscall(SYS_rt_sigprocmask, kNoSuchHow, static_cast<long>(address),
                                        0, sizeof(std::uint64_t));
  return result != kFault && result != base::kRefused;
}

void StackMemory::enter(std::uint64_t sp) {
  is_known_ = sp >= bounds_.low && sp < bounds_.high;
  max_step_ = is_known_ ? bounds_.high - sp : kMaxStep;
  low_ = sp;
  high_ = sp;
  if (is_known_) {
    high_ = bounds_.high & ~std::uint64_t{7};
    if (high_ < sp) high_ = sp;
  } else if (sp - own_frame_ < kPage) {
    high_ = (sp + kPage - 1) & ~(kPage - 1);  // sp itself may be the end of the stack.
  }
}

// A read past the end of a known stack is a wrong rule; on other stacks the next frame is on a page
// that has not been checked yet.
bool StackMemory::move_window(std::uint64_t address) {
  const std::uint64_t page = address & ~(kPage - 1);
  if (is_known_ || page < kPage || !is_readable(page)) return false;
  low_ = page;
  high_ = page + kPage;
  return true;
}

}  // namespace geiger::unwind
