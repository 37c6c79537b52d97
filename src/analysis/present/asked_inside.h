// Residency answers from inside processes, for reports of resident bytes where pages could not be
// read from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/present/fields.h"
#include "analysis/profile/profile.h"
#include "base/units.h"

namespace geiger::present {

/// All processes that were queried from inside, summed up.
struct AskedInside {
  std::uint64_t processes = 0;
  Nanoseconds first = 0, last = 0;  ///< When they were queried, after the start of the recording.
  std::uint64_t answered = 0;       ///< Samples, of those that were live then.
  std::uint64_t unanswered = 0;     ///< The others: upper limits take all of their bytes.
};

/// Nothing if `kind` is not about resident bytes, or all pages were read from outside.
[[nodiscard]] std::optional<AskedInside> asked_inside(const profile::Recording& recording,
                                                      profile::Kind kind, profile::Moment moment);

/// "by mincore, asked inside the process at 3.2 s", and how many had no answer if any.
[[nodiscard]] std::string text_of(const AskedInside& asked);

[[nodiscard]] const Fields<AskedInside>& fields_of(Of<AskedInside> /*type*/);

}  // namespace geiger::present
