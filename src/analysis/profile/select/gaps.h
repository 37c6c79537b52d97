// What is missing from a recording: damage, losses, absent parts.
//
// Figures of an incomplete recording are right about the samples at hand and cover nothing else.
// Code that would conclude that something is *not* there asks here first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"

namespace geiger::profile {

struct Gap {
  enum class Lacks : std::uint8_t {
    kBeginning,  ///< All of its first part; what followed is whole.
    kAll,        ///< Samples, and bytes that were counted.
    kSamples,    ///< Samples only: what is counted is whole.
    kErrors,     ///< How far the values of another program's profile are from the truth.
    kFates,      ///< How long some objects lived, or objects from before the recording.
  };
  Lacks lacks = Lacks::kAll;
  std::string why;  ///< A clause: "3 samples were dropped".

  /// Whether figures of a kind suffer; `is_counted`: they are counted, not estimated.
  [[nodiscard]] bool concerns(Kind kind, bool is_counted) const;
  /// Whether growth between the first sample and the last may have left no samples.
  [[nodiscard]] bool hides_growth() const {
    return lacks == Lacks::kAll || lacks == Lacks::kSamples || lacks == Lacks::kErrors;
  }
};

/// Everything known to be missing, the gravest first; of each cause once.
[[nodiscard]] std::vector<Gap> gaps_of(const Recording& recording);

/// Why upper limits cover only what was recorded: processes, or stretches of their recordings, of
/// which there is nothing at all. Empty: there is something of all.
[[nodiscard]] std::string missing_part(const std::vector<Gap>& gaps);
/// Likewise, without looking at samples.
[[nodiscard]] std::string missing_part(const Recording& recording);

/// Whether the values of an imported process may be estimates whose errors its file does not
/// contain: nothing can be concluded from them.
[[nodiscard]] inline bool lacks_errors(const Process& process) {
  return process.is_imported && process.interval == 0;
}

[[nodiscard]] bool is_any_without_errors(const Recording& recording);

/// Whether what the processes allocated was counted to the byte: nothing of it is known of
/// profiles that other programs wrote.
[[nodiscard]] bool is_counted(const Recording& recording);

}  // namespace geiger::profile
