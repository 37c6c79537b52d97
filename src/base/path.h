// File paths as texts: their parts, without file system access.
#pragma once

#include <cstddef>
#include <string_view>

namespace geiger::base {

/// File name of a path: what follows its last slash. All of a path that ends in one.
[[nodiscard]] constexpr std::string_view file_name_of(std::string_view path) {
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0.
  return name < path.size() ? path.substr(name) : path;
}

}  // namespace geiger::base
