// Functions that make threads and processes, or restrict and interrupt them.

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/control/confinement.h"
#include "runtime/capture/guard_mode.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/tables/arena.h"
#include "runtime/interpose/conclude.h"
#include "runtime/interpose/originals.h"

namespace geiger::interpose {

// pthread_create and thrd_create, to see the end of each thread: otherwise the bytes of threads
// that end before their first sample would be missing from the totals, and 2,000 threads of 64 KiB
// each would seem to allocate next to nothing.
//
// No pthread key (a program may use them all) and no C++ thread-exit hook (it
// takes the loader's lock): a trampoline with a cancellation cleanup handler, which
// runs after a return, pthread_exit and cancellation alike.

namespace {

/// A new thread's function and argument. One of the two functions is set.
struct Start {
  void* (*posix)(void*);
  thrd_start_t c11;
  void* argument;
  std::atomic<bool> is_used;
  Start* next;
};

/// All start blocks. They are reused, so their number is the largest number of threads being
/// started at once.
constinit std::atomic<Start*> starts{nullptr};

Start* take_start() {
  for (Start* start = starts.load(std::memory_order_acquire); start != nullptr;
       start = start->next) {
    if (!start->is_used.exchange(true, std::memory_order_acquire)) return start;
  }
  auto* fresh = static_cast<Start*>(capture::arena_allocate(sizeof(Start)));
  if (fresh == nullptr) return nullptr;
  fresh->is_used.store(true, std::memory_order_relaxed);
  Start* newest = starts.load(std::memory_order_relaxed);
  do {
    fresh->next = newest;
  } while (!starts.compare_exchange_weak(newest, fresh, std::memory_order_acq_rel));
  return fresh;
}

/// Where a C library allocates nothing before the first thread (musl's), the image would start in
/// one of several, and whatever the others allocate meanwhile would pass unseen.
void expect_thread() {
  resolve();
  capture::start_if_due();
}

void give_back(Start& start) { start.is_used.store(false, std::memory_order_release); }

/// Ends the thread when its function returns, or by pthread_exit or cancellation, which run
/// handlers but no destructors.
class Ending {
 public:
  Ending() {
    originals.cleanup_push(
        &buffer_, [](void*) { capture::end_thread(); }, nullptr);
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() { originals.cleanup_pop(&buffer_, 1); }

 private:
  _pthread_cleanup_buffer buffer_;
};

[[gnu::noinline]] void* run_posix(void* block) {
  auto& start = *static_cast<Start*>(block);
  void* (*const function)(void*) = start.posix;
  void* const argument = start.argument;
  give_back(start);
  capture::begin_thread();
  const Ending ending;
  return function(argument);
}

[[gnu::noinline]] int run_c11(void* block) {
  auto& start = *static_cast<Start*>(block);
  const thrd_start_t function = start.c11;
  void* const argument = start.argument;
  give_back(start);
  capture::begin_thread();
  const Ending ending;
  return function(argument);
}

}  // namespace

}  // namespace geiger::interpose

using namespace geiger::interpose;  // NOLINT: the C names below live outside.

GEIGER_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                 void* (*function)(void*), void* argument) {
  expect_thread();
  Start* start = take_start();
  if (start == nullptr) return originals.pthread_create(thread, attributes, function, argument);
  start->posix = function;
  start->argument = argument;
  const int error = originals.pthread_create(thread, attributes, run_posix, start);
  if (error != 0) give_back(*start);
  return error;
}

GEIGER_EXPORT int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
  expect_thread();
  Start* start = take_start();
  if (start == nullptr) return originals.thrd_create(thread, function, argument);
  start->c11 = function;
  start->argument = argument;
  const int result = originals.thrd_create(thread, run_c11, start);
  if (result != thrd_success) give_back(*start);
  return result;
}

// Functions with which programs restrict their system calls or create processes without fork().
// Other calls of prctl and syscall are passed on unchanged. Inline system call instructions are not
// seen.
//
//   a filter of system calls (seccomp), their    the runtime must know before it is in force,
//   dispatch to the program, no clock            whichever of the two functions asks for it
//   a fork without fork handlers              the child must know before it allocates
//   an action for SIGSEGV                     guard mode's own stays in force
using namespace geiger;             // NOLINT: the C names below live outside.
using namespace geiger::interpose;  // NOLINT

namespace {

using base::Confinement;

/// What prctl(option, value) asks for; kNone of nearly all.
Confinement confinement_by_prctl(int option, long value) {
  switch (option) {
    case PR_SET_SECCOMP:
      return value == SECCOMP_MODE_STRICT ? Confinement::kTotal : Confinement::kToAllocators;
    case PR_SET_TSC:
      return value == PR_TSC_SIGSEGV ? Confinement::kTotal : Confinement::kNone;
    case PR_SET_SYSCALL_USER_DISPATCH:
      return value != PR_SYS_DISPATCH_OFF ? Confinement::kTotal : Confinement::kNone;
    default:
      return Confinement::kNone;
  }
}

Confinement confinement_by(long number, long a, long b) {
  if (number == SYS_prctl) return confinement_by_prctl(static_cast<int>(a), b);
  if (number != SYS_seccomp) return Confinement::kNone;
  if (a == SECCOMP_SET_MODE_STRICT) return Confinement::kTotal;
  return a == SECCOMP_SET_MODE_FILTER ? Confinement::kToAllocators : Confinement::kNone;
}

/// Has the kernel asked by `call`, whose result is negative if it refuses.
template <typename Call>
auto confine(Confinement wanted, const Call& call) {
  if (wanted == Confinement::kNone) [[likely]]
    return call();
  const capture::Attempt attempt{wanted};
  const auto result = call();
  attempt.end(result >= 0);
  return result;
}

/// clone3 has its flags in memory; the child finds out whether memory is shared.
bool forks(long number, long flags) {
  if (number == SYS_clone) return (flags & CLONE_VM) == 0;
#ifdef SYS_fork
  if (number == SYS_fork) return true;
#endif
  return number == SYS_clone3;
}

struct ChildStart {
  int (*function)(void*);
  void* argument;
};

int run_child(void* block) {
  const ChildStart start = *static_cast<ChildStart*>(block);
  capture::begin_child();
  return start.function(start.argument);
}

}  // namespace

// The headers declare these variadic, hence other C++ names for the same symbols. Arguments that
// the caller did not give are passed on with undefined values, as the original would see them.
extern "C" {
[[gnu::visibility("default")]] int enter_prctl(int, long, long, long, long) asm("prctl");
[[gnu::visibility("default")]] long enter_syscall(long, long, long, long, long, long,
                                                  long) asm("syscall");
[[gnu::visibility("default")]] int enter_clone(int (*)(void*), void*, int, void*, void*, void*,
                                               void*) asm("clone");
[[gnu::visibility("default")]] pid_t enter_fork_bare() asm("_Fork");
}

int enter_prctl(int option, long a, long b, long c, long d) {
  resolve_system();
  return confine(confinement_by_prctl(option, a),
                 [&] { return system_originals.prctl(option, a, b, c, d); });
}

long enter_syscall(long number, long a, long b, long c, long d, long e, long f) {
  resolve_system();
  if (forks(number, a)) [[unlikely]] {
    capture::prepare_child();
    const long child = system_originals.syscall(number, a, b, c, d, e, f);
    if (child == 0) capture::begin_child();
    return child;
  }
  return confine(confinement_by(number, a, b),
                 [&] { return system_originals.syscall(number, a, b, c, d, e, f); });
}

/// `start` is in our frame, of which the child has a copy.
int enter_clone(int (*function)(void*), void* stack, int flags, void* argument, void* parent_tid,
                void* tls, void* child_tid) {
  resolve_system();
  if ((flags & CLONE_VM) != 0) {
    return system_originals.clone(function, stack, flags, argument, parent_tid, tls, child_tid);
  }
  ChildStart start{function, argument};
  capture::prepare_child();
  return system_originals.clone(run_child, stack, flags, &start, parent_tid, tls, child_tid);
}

pid_t enter_fork_bare() {
  resolve_system();
  if (system_originals.fork_bare == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  capture::prepare_child();
  const pid_t child = system_originals.fork_bare();
  if (child == 0) capture::begin_child();
  return child;
}

GEIGER_EXPORT int sigaction(int signal, const struct sigaction* wanted,
                            struct sigaction* before) noexcept {
  resolve_system();
  const bool is_ours = signal == SIGSEGV && capture::is_trap_set();
  if (!is_ours) [[likely]]
    return system_originals.sigaction(signal, wanted, before);
  capture::act_for_program(wanted, before);
  return 0;
}

/// Like the C library's: the handler stays installed, and interrupted calls are restarted.
GEIGER_EXPORT sighandler_t signal(int signal, sighandler_t handler) noexcept {
  resolve_system();
  const bool is_ours = signal == SIGSEGV && handler != SIG_ERR && capture::is_trap_set();
  if (!is_ours) [[likely]]
    return system_originals.signal(signal, handler);
  struct sigaction wanted {};
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  sigaddset(&wanted.sa_mask, signal);
  struct sigaction before {};
  capture::act_for_program(&wanted, &before);
  return before.sa_handler;
}
