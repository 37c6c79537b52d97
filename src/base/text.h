// Texts: numbers and bytes as text, parts of texts and of paths, comparing secrets.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace geiger::base {

// Numbers written as texts.

/// The number that a text consists of; nothing for any other text, or where it does not fit.
/// `form`: a base or a std::chars_format, as std::from_chars takes them.
template <typename Number, typename... Form>
[[nodiscard]] std::optional<Number> number_in(std::string_view text, Form... form) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, form...);
  return error == std::errc{} && at == end ? std::optional(value) : std::nullopt;
}

// Bytes as hexadecimal digits.

/// Two lower-case digits for each of `bytes`.
template <typename Bytes>
[[nodiscard]] std::string hex_of(const Bytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

// Texts taken apart from their front.

/// Takes the first line, or the part before another `divider`, off the front of a text, and the
/// divider with it.
constexpr std::string_view take_part(std::string_view& text, char divider = '\n') {
  const std::string_view part = text.substr(0, text.find(divider));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

// File paths as texts: their parts, without file system access.

/// File name of a path: what follows its last slash. All of a path that ends in one.
[[nodiscard]] constexpr std::string_view file_name_of(std::string_view path) {
  const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0.
  return name < path.size() ? path.substr(name) : path;
}

/// What a path has after the folder of Python's library or of its packages: "asyncio/locks.py" of
/// "/usr/lib/python3.11/asyncio/locks.py". Empty if it has no such folder.
[[nodiscard]] constexpr std::string_view python_library_path_of(std::string_view path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.rfind(folder);
    if (at != std::string_view::npos) return path.substr(at + folder.size());
  }
  for (const std::string_view folder : {"/lib/python", "/lib64/python"}) {
    // "/lib/python3.11/", "/usr/lib/python3/", and no "/lib/python_of_mine/".
    const std::size_t at = path.find(folder);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = path.substr(at + folder.size());
    const std::size_t end = std::min(rest.find_first_not_of("0123456789."), rest.size());
    for (const std::string_view after : {"/", "zip/"}) {
      if (end > 0 && rest.substr(end).starts_with(after)) return rest.substr(end + after.size());
    }
  }
  return {};
}

/// File name of a source file; of one of Python's libraries with the folders of its package, and
/// otherwise with its folder where many have the same: "asyncio/locks.py", "app/__init__.py".
[[nodiscard]] constexpr std::string_view place_name_of(std::string_view path) {
  if (path.ends_with(".py")) {
    if (const std::string_view module = python_library_path_of(path); !module.empty())
      return module;
  }
  const std::string_view file = file_name_of(path);
  if (file != "__init__.py" && file != "__main__.py") return file;
  std::string_view folder = path.substr(0, path.size() - file.size());
  if (folder.empty()) return file;
  folder = file_name_of(folder.substr(0, folder.size() - 1));
  return path.substr(path.size() - file.size() - 1 - folder.size());
}

// Compares secrets.

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
