// Process ids of other pid namespaces: the id that a process inside one has, also in its traces, is
// another process's outside, or no process's.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace geiger::control {

/// Whether the process is in another pid namespace than ours.
[[nodiscard]] bool is_in_other_pid_namespace(pid_t pid);

/// The id in our pid namespace of the process that has `inner_pid` in its own and has mapped the
/// file; 0 if not found. Looks at all processes if it is not `inner_pid` itself.
[[nodiscard]] pid_t outer_pid_of(std::uint32_t inner_pid, int trace_fd);

/// Writes the id of its process in our pid namespace to a trace's header.
void record_outer_pid(int trace_fd, std::uint32_t outer_pid);

}  // namespace geiger::control
