// Sizes and durations as people type them.
#pragma once

#include <string_view>

#include "base/outcome.h"
#include "base/units.h"

namespace geiger::query {

/// Bytes from "4096", "512KiB", "512K" (both binary), "512kB" (decimal) or "1.5 GiB".
/// Letter case does not matter; fractions are rounded to whole bytes. The reason
/// of a failure quotes the text.
base::Outcome<Bytes> parse_size(std::string_view text);

/// Nanoseconds from "10" or "10s", "500ms", "250us", "2m", "1.5h".
base::Outcome<Nanoseconds> parse_duration(std::string_view text);

}  // namespace geiger::query
