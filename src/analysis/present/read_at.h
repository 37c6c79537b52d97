// When the memory of processes was read, for profiles made from such snapshots.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/present/fields.h"
#include "analysis/profile/profile.h"
#include "base/units.h"

namespace geiger::present {

/// The snapshots that a profile is made of, all together.
struct ReadAt {
  std::uint64_t processes = 0;
  Nanoseconds first = 0, last = 0;  ///< After the start of the recording.
  profile::Moment moment = profile::Moment::kMaximum;
};

/// Nothing where no memory was read from outside.
[[nodiscard]] std::optional<ReadAt> read_at(const profile::Recording& recording,
                                            profile::Moment moment);

/// "9.55 s after the start, at the largest RSS reading".
[[nodiscard]] std::string text_of(const ReadAt& read);

[[nodiscard]] const Fields<ReadAt>& fields_of(Of<ReadAt> /*type*/);

}  // namespace geiger::present
