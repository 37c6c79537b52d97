// The threads of a process, those best to borrow first.
#pragma once

#include <sys/types.h>

#include <vector>

namespace geiger::inject {

/// None if the process has ended.
[[nodiscard]] std::vector<pid_t> threads_of(pid_t pid);

/// Threads whose system call is restarted come first, those that would see EINTR last.
[[nodiscard]] std::vector<pid_t> threads_by_rank(pid_t pid);

}  // namespace geiger::inject
