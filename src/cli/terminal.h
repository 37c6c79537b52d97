// What the user's terminal can show, and writing to it.
#pragma once

#include <string_view>

#include "analysis/report/style.h"

namespace geiger::cli {

/// The style of standard output: the width of the terminal, else 100; colours on
/// a terminal only (NO_COLOR, CLICOLOR_FORCE and TERM=dumb are respected); ASCII
/// marks where the locale is explicitly not UTF-8. `level` as in Style.
[[nodiscard]] report::Style output_style(double level);

/// Writes a whole report to standard output and flushes it. If that fails, says
/// so in one line on standard error and returns false.
[[nodiscard]] bool print_report(std::string_view text, const report::Style& style);

/// The same without changing marks: JSON and data.
[[nodiscard]] bool print_data(std::string_view bytes);

/// "geiger: SENTENCE" on standard error; control characters are neutralised.
void complain(std::string_view sentence);

}  // namespace geiger::cli
