// How a text report is drawn, decided once by the command line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace geiger::present {

inline constexpr std::size_t kDefaultWidth = 100;
/// Narrower terminals get lines this wide and wrap them.
inline constexpr std::size_t kLeastWidth = 60;

enum class Names {
  kShort,  ///< As people say them, fitted to the width (analysis/naming).
  kFull,   ///< As the compiler knows them, never cut.
};

struct Style {
  std::size_t width = kDefaultWidth;  ///< Columns; at least kLeastWidth.
  bool has_color = false;
  bool has_unicode = true;
  double level = 0.95;  ///< Confidence level of every interval, in (0, 1).
  Names names = Names::kShort;
};

/// Roles, not colours: what the text is for.
enum class Role { kHeading, kFaint, kWarning };

/// `text` in the colour of its role, or as it is where colours are off.
[[nodiscard]] std::string paint(const Style& style, Role role, std::string_view text);

/// For terminals without UTF-8: ± becomes +-, lines, bars and the ellipsis become
/// ASCII. Other characters, as in names, stay.
[[nodiscard]] std::string to_ascii_marks(std::string text);

}  // namespace geiger::present
