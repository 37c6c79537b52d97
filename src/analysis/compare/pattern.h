// Glob patterns that select the functions a budget applies to.
#pragma once

#include <string>
#include <string_view>

#include "analysis/compare/places.h"

namespace geiger::compare {

/// Whether `text` matches `glob`: * stands for any characters, ? for one. Nothing else is special,
/// as names of functions are full of brackets.
[[nodiscard]] bool matches(std::string_view glob, std::string_view text);

/// Matches functions, and so the stacks that pass through one.
struct Pattern {
  std::string function = "*";
  std::string module = "*";

  [[nodiscard]] bool matches_everything() const { return function == "*" && module == "*"; }
  [[nodiscard]] bool matches(const Place& place) const {
    return compare::matches(function, place.name) && compare::matches(module, place.module);
  }
};

}  // namespace geiger::compare
