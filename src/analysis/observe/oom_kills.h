// Whether the kernel had to kill processes because memory ran out.
#pragma once

#include <cstdint>

namespace geiger::observe {

/// Processes that the kernel has killed for lack of memory since it started, of limits of groups
/// too; 0 where /proc/vmstat does not say.
[[nodiscard]] std::uint64_t oom_kills();

}  // namespace geiger::observe
