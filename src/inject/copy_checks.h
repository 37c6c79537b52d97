// Reasons not to copy the memory of a process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/outcome.h"
#include "inject/target.h"

namespace geiger::inject {

/// Fails unless twice its anonymous memory fits: into the machine, and into its control groups.
[[nodiscard]] base::Outcome<void> check_room(pid_t pid);

/// Fails if another pid namespace or a filter of system calls (seccomp) is in the way.
[[nodiscard]] base::Outcome<void> check_company(pid_t pid, const ProcessFacts& facts);

/// "Name:   123 kB" of such a text, in bytes.
[[nodiscard]] std::optional<std::uint64_t> kilobytes_of(std::string_view text,
                                                        std::string_view name);

}  // namespace geiger::inject
