// Leak suspects of a whole recording: where each process is judged, and which stacks are accused.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/profile/lives/leaks.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::profile {

/// An instant after every end: a process is judged at its own.
inline constexpr Nanoseconds kItsEnd = std::numeric_limits<Nanoseconds>::max();

/// By process, CLOCK_MONOTONIC: when the final frees began; kItsEnd: it had none, and is judged at
/// its end.
[[nodiscard]] std::vector<Nanoseconds> judged_before(std::span<const Teardown> teardowns);

/// LeakOptions::ran_until of processes that are judged then.
[[nodiscard]] std::vector<Nanoseconds> ran_until(const Recording& recording,
                                                 std::span<const Nanoseconds> judged);

/// The owner of each accused stack; empty: the stack is accused itself.
using AccusedStacks = std::map<std::uint32_t, std::string>;

/// Those of suspects and of owners that are, judged before the final frees.
[[nodiscard]] AccusedStacks accused_stacks(const Recording& recording);

}  // namespace geiger::profile
