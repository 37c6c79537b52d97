// Moments of the calendar as people type them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/outcome.h"

namespace geiger::query {

/// The forms of a date, for help texts.
inline constexpr const char* kDateForms = "2026-05-01, 2026-05-01T14:30 (UTC), or 24h (before now)";

/// Unix seconds; `now` is what durations are taken from.
base::Outcome<std::int64_t> parse_date(std::string_view text, std::int64_t now);

/// "2026-05-01T14:30:00Z".
[[nodiscard]] std::string date_text(std::int64_t seconds);

}  // namespace geiger::query
