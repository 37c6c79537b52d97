// The exit codes of geiger.
#pragma once

namespace geiger::cli {

/// Exit codes of every verb but `run`, which passes on the program's own.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  ///< Something failed or the input was damaged.
inline constexpr int kExitUsage = 2;
/// Of `check`: a limit is exceeded; of `leaks --fail`: suspects; of `faults --fail`: faults.
inline constexpr int kExitOverLimit = 3;
/// Of `check` and `leaks --fail`: the samples do not support an answer.
inline constexpr int kExitUndecided = 4;

}  // namespace geiger::cli
