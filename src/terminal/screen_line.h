// Lines of a screen, as pieces of text that state their purpose; the terminal decides how each
// purpose looks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace geiger::terminal {

/// The purpose of a piece of text.
enum class Ink : std::uint8_t {
  kPlain,
  kStrong,
  kFaint,
  kWarning,
  kHeap,      ///< The part of the live heap that is sure.
  kBand,      ///< Between the ends of its interval.
  kResident,  ///< RSS.
  kBar,       ///< First and last line.
  kSelected,
};

struct Span {
  Ink ink = Ink::kPlain;
  std::string text;
};
using ScreenLine = std::vector<Span>;
using Screen = std::vector<ScreenLine>;

/// Columns that a line takes.
[[nodiscard]] std::size_t columns_of(const ScreenLine& line);

/// Cuts what is wider.
[[nodiscard]] ScreenLine fitted(ScreenLine line, std::size_t width);

/// Adds a span, to the last one if they are of one ink.
void append(ScreenLine& line, Span span);

}  // namespace geiger::terminal
