// What filters of system calls (seccomp) do with the calls that the runtime makes after it was
// loaded into a process. The kernel shows them to root (PTRACE_SECCOMP_GET_FILTER, in kernels with
// CONFIG_CHECKPOINT_RESTORE), and a filter has no loops, so all its paths can be followed.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/outcome.h"

namespace geiger::inject {

/// In this order: of two, the later one counts.
enum class FilterEffect {
  kAllows,   ///< Allows the call, or lets it fail.
  kMayEnd,   ///< Ends the process, or sends it SIGSYS, for some arguments.
  kUnknown,  ///< Has too many paths, or cannot be read.
  kEnds,     ///< Ends the process, or sends it SIGSYS, for all arguments.
};

/// What `filter` does with the call `number`, with any arguments.
[[nodiscard]] FilterEffect effect_of(std::span<const sock_filter> filter, std::uint32_t number);

/// Fails if a filter of `pid` might end it for a call of the runtime. `despite_seccomp`: only if it
/// would do so whatever the arguments are. Stops a thread for a moment.
[[nodiscard]] base::Outcome<void> check_filters(pid_t pid, bool despite_seccomp);

}  // namespace geiger::inject
