// Sizes, durations, shares and dates as people type them, and what a mistyped word probably meant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.h"
#include "base/units.h"

namespace geiger::query {

// Sizes and durations as people type them.

/// Bytes from "4096", "512KiB", "512K" (both binary), "512kB" (decimal) or "1.5 GiB".
/// Letter case does not matter; fractions are rounded to whole bytes. The reason
/// of a failure quotes the text.
base::Outcome<Bytes> parse_size(std::string_view text);

/// Nanoseconds from "10" or "10s", "500ms", "250us", "2m", "1.5h".
base::Outcome<Nanoseconds> parse_duration(std::string_view text);

/// The same, but above 0.
base::Outcome<Nanoseconds> parse_positive_duration(std::string_view text);

// Shares and changes as people type them.

/// A positive share, from "5%" or "0.05". The reason of a failure quotes the text.
base::Outcome<double> parse_share(std::string_view text);

/// A relative change, above -1 and not 0: "10%", "+10%", "-5%", "0.1", "2x" (twice as
/// much: 1).
base::Outcome<double> parse_change(std::string_view text);

/// A growth to stay below, above -1: "5%", "+5 %", "-10%" or "0%". Without the % it is refused: a
/// limit of "5" could mean 5 % or a factor.
base::Outcome<double> parse_growth(std::string_view text);

// Moments of the calendar as people type them.

/// The forms of a date, for help texts.
inline constexpr const char* kDateForms = "2026-05-01, 2026-05-01T14:30 (UTC), or 24h (before now)";

/// Unix seconds; `now` is what durations are taken from.
base::Outcome<std::int64_t> parse_date(std::string_view text, std::int64_t now);

/// "2026-05-01T14:30:00Z".
[[nodiscard]] std::string date_text(std::int64_t seconds);

// What a mistyped word probably meant.

/// The candidate closest to `word` by edits, if close enough to be a slip.
std::optional<std::string> closest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// "; did you mean 'x'?" where a candidate is close to `word`, else "".
[[nodiscard]] std::string did_you_mean(const std::string& word,
                                       const std::vector<std::string>& candidates);

}  // namespace geiger::query
