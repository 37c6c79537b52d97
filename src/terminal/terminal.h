// What the user's terminal can show, and writing to it.
#pragma once

#include <cstddef>
#include <string_view>

#include "analysis/present/style.h"

namespace geiger::terminal {

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

/// "geiger: SENTENCE" on standard error; control characters are neutralised.
void complain(std::string_view sentence);

}  // namespace geiger::terminal
