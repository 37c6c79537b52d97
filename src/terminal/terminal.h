// What the user's terminal can show, and writing to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/text.h"

namespace geiger::terminal {

// Lines of a screen, as pieces of text that state their purpose; the terminal decides how each
// purpose looks.

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

// Signals that end a long operation.

/// From here on ^C, termination and hang-up are remembered and end nothing by themselves, and
/// a reader that went away is an error of writing.
void heed_signals();
[[nodiscard]] bool was_interrupted();
/// Clears the flag, for code that acts on an interrupt and goes on.
void forget_interrupt();

enum class Color { kAuto, kAlways, kNever };

/// Sets what --color asks for; kAuto until then.
void choose_color(Color color);

/// Sets what --names asks for; kShort until then.
void choose_names(present::Names names);

/// The style of standard output: COLUMNS wide, else as the terminal is, else 100; ASCII marks
/// where the locale is explicitly not UTF-8. Colours as chosen; by themselves on a terminal
/// only, and not with NO_COLOR, CLICOLOR=0 or TERM=dumb; CLICOLOR_FORCE brings them anywhere.
/// `level` as in Style.
[[nodiscard]] present::Style output_style(double level);

/// The style of standard error, as of output_style(), but with colours on a terminal only: standard
/// output is often redirected, as the program's is.
[[nodiscard]] present::Style error_style(double level);

/// Columns of help texts: as of output_style(), but 80 where standard output is not a terminal.
[[nodiscard]] std::size_t help_width();

/// Writes a whole report to standard output and flushes it. If that fails, prints one line on
/// standard error and returns false.
[[nodiscard]] bool print_report(std::string_view text, const present::Style& style);

/// Writes JSON or other data to standard output unchanged, else like print_report().
[[nodiscard]] bool print_data(std::string_view bytes);

/// "geiger: SENTENCE" on standard error, wrapped on a terminal; control characters are neutralised.
void complain(std::string_view sentence);
/// "geiger: next: COMMAND" on standard error, in one line, which can be copied.
void suggest(std::string_view command);

}  // namespace geiger::terminal
