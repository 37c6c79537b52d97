// What can be seen of a process before attaching to it, and the reasons to refuse the attachment.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/attachment.h"
#include "inject/remote_modules.h"

namespace geiger::inject {

/// How far the kernel restricts the system calls of a process (seccomp).
struct Confinement {
  int mode = 0;     ///< 0 none, 1 strict, 2 filters.
  int filters = 0;  ///< 0 where the kernel does not count them.
  bool operator==(const Confinement&) const = default;
};

/// /proc/PID/status and stat, as far as they are needed.
struct ProcessFacts {
  std::string name;
  char state = '?';
  pid_t group = 0;              ///< Its process: another number if `pid` is a thread of one.
  std::uint32_t inner_pid = 0;  ///< In its own pid namespace.
  pid_t tracer = 0;
  unsigned uid = 0, gid = 0;  ///< Effective.
  bool has_one_user = true;   ///< Real, effective and saved ids are the same.
  Confinement confinement;
  bool has_memory = false;  ///< False for kernel threads and zombies.
  std::uint64_t start = 0;  ///< Since boot, clock ticks: a recycled pid has another.

  [[nodiscard]] bool is_zombie() const { return state == 'Z' || state == 'X'; }
};

/// From the texts of the two files; nothing if they are not of that kind.
[[nodiscard]] std::optional<ProcessFacts> parse_facts(const std::string& status,
                                                      const std::string& stat);
/// Nothing: no such process.
[[nodiscard]] std::optional<ProcessFacts> facts_of(pid_t pid);

/// Why `pid` cannot be attached to, in one sentence without "geiger: "; empty if nothing
/// that can be seen from outside speaks against it. `despite_seccomp`: a filter does not.
[[nodiscard]] std::string obstacle_of(pid_t pid, const std::optional<ProcessFacts>& facts,
                                      bool despite_seccomp);

/// Why the kernel did not let us trace `pid`, by the errno of the refusal.
[[nodiscard]] std::string refusal_text(pid_t pid, int error);

/// What a runtime in the process reports about itself; nothing if there is none.
struct PresentRuntime {
  RemoteModule module;
  base::Attachment said;
};
[[nodiscard]] std::optional<PresentRuntime> runtime_in(pid_t pid,
                                                       const std::vector<RemoteModule>& modules);

/// Why a process with this runtime cannot be attached to; empty if it can.
[[nodiscard]] std::string obstacle_of_runtime(pid_t pid,
                                              const std::optional<PresentRuntime>& present);

}  // namespace geiger::inject
