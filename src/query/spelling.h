// What a mistyped word probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace geiger::query {

/// The candidate closest to `word` by edits, if close enough to be a slip.
std::optional<std::string> closest(std::string_view word,
                                   const std::vector<std::string>& candidates);

/// "; did you mean 'x'?" where a candidate is close to `word`, else "".
[[nodiscard]] std::string did_you_mean(const std::string& word,
                                       const std::vector<std::string>& candidates);

}  // namespace geiger::query
