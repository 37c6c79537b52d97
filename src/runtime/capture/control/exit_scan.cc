#include "runtime/capture/control/exit_scan.h"

#include <poll.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>

#include "base/clock.h"
#include "base/loader.h"
#include "base/raw_syscall.h"
#include "runtime/capture/image/image.h"
#include "trace/share.h"

namespace geiger::capture {

namespace {

using base::is_error;
using base::raw_syscall;

/// The generation of the image that has waited.
constinit std::atomic<std::uint32_t> has_waited{0};

/// Whether the process of a descriptor ends within the next few milliseconds.
bool has_ended_soon(int process) {
  constexpr long kLook = 5'000'000;
  pollfd source{process, POLLIN, 0};
  timespec time{0, kLook};
  return raw_syscall(SYS_ppoll, reinterpret_cast<long>(&source), 1, reinterpret_cast<long>(&time),
                     0, 0) > 0;
}

}  // namespace

// __cxa_thread_atexit_impl() is what thread_local variables with destructors are compiled to, since
// glibc 2.18. Its turns are before those of atexit(), which are before the destructors of modules.
void watch_exit() {
  using Destructor = void (*)(void* object);
  using Register = int (*)(Destructor destructor, void* object, void* module);
  static constinit char here = 0;
  if (image.settings.scanner_pid == 0) return;
  void* function = base::find_function("__cxa_thread_atexit_impl");
  if (function == nullptr) return;
  reinterpret_cast<Register>(function)([](void*) { wait_for_scan(); }, nullptr, &here);
}

void wait_for_scan() {
  if (image.settings.scanner_pid == 0 || !is_recording()) return;
  const std::uint32_t generation = image.origin.generation;
  if (has_waited.exchange(generation, std::memory_order_relaxed) == generation) return;
  const long scanner =
      raw_syscall(SYS_pidfd_open, static_cast<long>(image.settings.scanner_pid), 0);
  if (is_error(scanner)) return;
  const Nanoseconds until = base::monotonic_now() + trace::kLongestExit;
  bool is_over = false;
  while (!is_over) {
    Segment& segment = current_segment();  // Another thread may begin the next one.
    segment.writer.header()->waits_at_exit.store(1, std::memory_order_release);
    is_over = segment.writer.control()->was_scanned.load(std::memory_order_acquire) != 0 ||
              has_ended_soon(static_cast<int>(scanner)) || base::monotonic_now() >= until;
  }
  current_segment().writer.header()->waits_at_exit.store(0, std::memory_order_release);
  raw_syscall(SYS_close, scanner);
}

}  // namespace geiger::capture
