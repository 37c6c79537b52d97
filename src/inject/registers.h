// Registers of the threads of a running process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace geiger::inject {

/// What a stop does to a thread.
enum class StopEffect : std::uint8_t {
  kRestarted,  ///< The kernel restarts the system call that it is in.
  kNone,       ///< It is in none.
  kNoticed,    ///< Its call ends with EINTR, or may.
};
[[nodiscard]] StopEffect effect_of_stop(pid_t pid, pid_t tid);

/// The general registers of a thread.
struct RegistersOf {
  pid_t tid = 0;
  std::vector<std::uint64_t> words;
};

/// Stops one thread after the other, each for some microseconds. Left out are those that would
/// notice it, and those that cannot be traced. A thread that begins an epoll_wait() with a timeout
/// just then sees EINTR.
[[nodiscard]] std::vector<RegistersOf> read_registers(pid_t pid);

}  // namespace geiger::inject
