// Process ids of other pid namespaces: a process inside one, and the traces that it writes, have
// ids that mean another process outside, or none.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace geiger::control {

/// Whether the process is in another pid namespace than we are.
[[nodiscard]] bool is_in_other_pid_namespace(pid_t pid);

/// Our id of the process that has `inner_pid` in its own pid namespace and has the file mapped; 0
/// if we see none. Looks at all processes where that is not `inner_pid` itself.
[[nodiscard]] pid_t outer_pid_of(std::uint32_t inner_pid, int trace_fd);

/// Adds our id of its process to the header of a trace.
void record_outer_pid(int trace_fd, std::uint32_t outer_pid);

}  // namespace geiger::control
