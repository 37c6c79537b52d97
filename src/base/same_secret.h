// Compares secrets.
#pragma once

#include <cstddef>
#include <string_view>

namespace geiger::base {

/// Takes as long whatever they have in common, but for their length.
[[nodiscard]] inline bool is_same_secret(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return difference == 0;
}

}  // namespace geiger::base
