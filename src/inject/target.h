// Facts about a process before attaching to it, and the reasons to refuse.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/attachment.h"
#include "base/outcome.h"
#include "inject/remote_modules.h"

namespace geiger::inject {

/// How far the kernel restricts the system calls of a process (seccomp).
struct Confinement {
  int mode = 0;     ///< 0 none, 1 strict, 2 filters.
  int filters = 0;  ///< 0 if the kernel does not count them.
  bool operator==(const Confinement&) const = default;
};

/// The contents of /proc/PID/status and stat that are needed.
struct ProcessFacts {
  std::string name;
  char state = '?';
  pid_t group = 0;              ///< Its process: another id if `pid` is a thread.
  std::uint32_t inner_pid = 0;  ///< In its own pid namespace.
  pid_t tracer = 0;
  unsigned uid = 0, gid = 0;  ///< Effective.
  bool has_one_user = true;   ///< Real, effective and saved ids are the same.
  Confinement confinement;
  bool has_memory = false;  ///< False for kernel threads and zombies.
  std::uint64_t start = 0;  ///< Clock ticks since boot: a reused pid has another.

  [[nodiscard]] bool is_zombie() const { return state == 'Z' || state == 'X'; }
};

/// From the texts of the two files; nothing if they are malformed.
[[nodiscard]] std::optional<ProcessFacts> parse_facts(const std::string& status,
                                                      const std::string& stat);
/// Nothing: no such process.
[[nodiscard]] std::optional<ProcessFacts> facts_of(pid_t pid);

/// None if the process has ended.
[[nodiscard]] std::vector<pid_t> threads_of(pid_t pid);

/// Whether nothing of a process, or of a thread, runs any more.
[[nodiscard]] bool has_ended(pid_t tid);

/// Fails if something visible from outside prevents attaching to `pid`. `despite_seccomp`: as in
/// check_filters().
[[nodiscard]] base::Outcome<void> check_process(pid_t pid, const std::optional<ProcessFacts>& facts,
                                                bool despite_seccomp);

/// Fails if its first thread is traced: by a debugger, or for a moment by another geiger.
[[nodiscard]] base::Outcome<void> check_not_traced(pid_t pid, const ProcessFacts& facts);

/// Why the kernel did not let us trace `pid`, by its errno.
[[nodiscard]] std::string refusal_text(pid_t pid, int error);

/// State that a runtime in the process reports about itself.
struct PresentRuntime {
  RemoteModule module;
  base::Attachment said;
};
[[nodiscard]] std::optional<PresentRuntime> runtime_in(pid_t pid,
                                                       const std::vector<RemoteModule>& modules);

/// Fails if the process is being recorded already.
[[nodiscard]] base::Outcome<void> check_not_recorded(pid_t pid,
                                                     const std::optional<PresentRuntime>& present);

}  // namespace geiger::inject
