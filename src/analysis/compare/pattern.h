// Glob patterns that select the functions a budget applies to.
#pragma once

#include <string>

#include "analysis/compare/places.h"
#include "analysis/profile/glob.h"

namespace geiger::compare {

/// Matches functions, and so the stacks that pass through one; or labels, by their text or their
/// whole path, with all that is allocated within them.
struct Pattern {
  std::string function = "*";
  std::string module = "*";
  std::string label = {};  ///< Instead of the two above, unless it is empty.

  [[nodiscard]] bool is_of_label() const { return !label.empty(); }
  [[nodiscard]] const std::string& name() const { return is_of_label() ? label : function; }
  [[nodiscard]] bool matches_everything() const {
    return function == "*" && module == "*" && !is_of_label();
  }
  [[nodiscard]] bool matches(const Place& place) const {
    return profile::matches_glob(function, place.name) &&
           profile::matches_glob(module, place.module);
  }
};

}  // namespace geiger::compare
