// For tests only: system calls that fail, for one thread as long as it lives, or for a process.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <thread>
#include <vector>

namespace geiger::base {

/// A sanitizer maps memory for itself, and looks at all threads at exit: it cannot be refused that.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

/// A call that the kernel answers with `error` and does not make. Not EINTR where the caller
/// tries again: it would for ever.
struct Refusal {
  long number;
  int error;
  int argument = -1;        ///< Only calls in which this argument, from 0 ...
  std::uint32_t value = 0;  ///< ... has this value, in its lower half.
};

inline std::vector<sock_filter> filter_of(std::initializer_list<Refusal> calls) {
  std::vector<sock_filter> filter;
  const auto load = [&](std::size_t offset) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
  };
  const auto skip_unless = [&](std::uint32_t value, std::uint8_t statements) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, statements));
  };
  for (const Refusal& call : calls) {
    const bool has_argument = call.argument >= 0;
    load(offsetof(seccomp_data, nr));
    skip_unless(static_cast<std::uint32_t>(call.number), has_argument ? 3 : 1);
    if (has_argument) {
      load(offsetof(seccomp_data, args) + 8 * static_cast<std::size_t>(call.argument));
      skip_unless(call.value, 1);
    }
    filter.push_back(
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(call.error)));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return filter;
}

/// Runs `body` in a thread of its own in which these calls fail, and waits for its end. False
/// where the kernel knows no such filters: nothing ran.
template <typename Body>
[[nodiscard]] bool where_refused(std::initializer_list<Refusal> calls, const Body& body) {
  std::vector<sock_filter> filter = filter_of(calls);
  bool has_run = false;
  std::thread([&] {
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    has_run = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
              prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    if (has_run) body();
  }).join();
  return has_run;
}

/// From here on all threads get `error` from the kernel for system call `number`.
inline void refuse_call(long number, int error) {
  std::vector<sock_filter> filter = filter_of({{number, error}});
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    std::abort();
  }
}

/// What body() returns in a child, 0 to 255; -1: it did not end by itself.
template <typename Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) std::exit(body());  // Not _exit(): what is counted is written at exit.
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace geiger::base
