// Instants of a recording as people name them: --from, --to, --at.
#pragma once

#include <string>

#include "analysis/profile/recording.h"
#include "base/outcome.h"
#include "base/units.h"

namespace geiger::query {

struct Instant {
  enum class Kind : std::uint8_t { kStart, kEnd, kPeak, kGiven };
  Kind kind = Kind::kGiven;
  Nanoseconds time = 0;               ///< CLOCK_MONOTONIC.
  std::string text;                   ///< "3.2 s", "mark 'warm' (3.2 s)".
  bool is_chosen_by_samples = false;  ///< As of profile::Selection.
};

/// The forms of WHEN, for help texts.
inline constexpr const char* kWhenForms =
    "12.5s, 300ms, 50%, start, end, peak, cleanup,\na mark's name";

/// The instant that `when` names:
///   12.5s  300ms  2m   after the start of the recording (the first of its processes)
///   50%                of its duration
///   start  end  peak   the peak being the largest of those of its processes, in `heap`
///   cleanup            before the process that held most freed its heap at the end, however
///                      slowly; else the end
///   mark:NAME  NAME    a mark; mark:NAME#2 the second of that name
/// Fails on what is outside the recording, on unknown marks, and on names that several marks have;
/// the reason lists the marks.
[[nodiscard]] base::Outcome<Instant> instant_of(const std::string& when,
                                                const profile::Recording& recording,
                                                std::uint32_t heap = profile::kProcessHeap);

}  // namespace geiger::query
