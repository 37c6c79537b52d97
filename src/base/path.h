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

/// File name of a source file, with its folder where many have the same: "json/__init__.py".
[[nodiscard]] constexpr std::string_view place_name_of(std::string_view path) {
  const std::string_view file = file_name_of(path);
  if (file != "__init__.py" && file != "__main__.py") return file;
  std::string_view folder = path.substr(0, path.size() - file.size());
  if (folder.empty()) return file;
  folder = file_name_of(folder.substr(0, folder.size() - 1));
  return path.substr(path.size() - file.size() - 1 - folder.size());
}

}  // namespace geiger::base
