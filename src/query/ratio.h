// Shares and changes as people type them.
#pragma once

#include <string_view>

#include "base/outcome.h"

namespace geiger::query {

/// A positive share, from "5%" or "0.05". The reason of a failure quotes the text.
base::Outcome<double> parse_share(std::string_view text);

/// A relative change, above -1 and not 0: "10%", "+10%", "-5%", "0.1", "2x" (twice as
/// much: 1).
base::Outcome<double> parse_change(std::string_view text);

/// A growth to stay below, above -1: "5%", "+5 %", "-10%" or "0%". Without the % it is refused: a
/// limit of "5" could mean 5 % or a factor.
base::Outcome<double> parse_growth(std::string_view text);

}  // namespace geiger::query
