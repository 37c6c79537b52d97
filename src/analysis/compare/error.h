// Why two sides cannot be compared.
#pragma once

#include <cstdint>
#include <string_view>

namespace geiger::compare {

enum class Error : std::uint8_t {
  kEmptySide,        ///< A side without a run.
  kDifferentKinds,   ///< Profiles of allocated, live and peak bytes measure different things.
  kBadExposure,      ///< A run's exposure is not a positive number.
  kNothingInCommon,  ///< Enough samples on both sides, and no site is on both.
  kBadLevel,         ///< A level that is not strictly between 0 and 1.
  kBadGateLevel,     ///< A gate needs a level above one half: below, both answers would hold.
};

/// One clause without a full stop.
[[nodiscard]] constexpr std::string_view text_of(Error error) {
  switch (error) {
    case Error::kEmptySide:
      return "one side has no runs";
    case Error::kDifferentKinds:
      return "profiles of different kinds cannot be compared";
    case Error::kBadExposure:
      return "the exposure of a run must be a positive number";
    case Error::kNothingInCommon:
      return "the two sides have nothing in common: are they runs of the same program?";
    case Error::kBadLevel:
      return "the confidence level must be between 0 and 1";
    case Error::kBadGateLevel:
      return "the confidence level of a gate must be between 50 % and 100 %";
  }
  return "";
}

}  // namespace geiger::compare
