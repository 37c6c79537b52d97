// Prints what a verb reports: as JSON, or as text for the terminal.
#pragma once

#include "terminal/terminal.h"

namespace geiger::cli {

/// Prints to_json or to_text of a report, as --json and --ci in the verb's options have it, with
/// the `recording` for those that take their names from it. False: standard output could not be
/// written.
template <typename Report, typename Options, typename... Recording>
[[nodiscard]] bool print(const Report& report, const Options& options,
                         const Recording&... recording) {
  if (options.is_json) return terminal::print_data(to_json(report, recording...));
  const present::Style style = terminal::output_style(options.level);
  if constexpr (requires { to_text(report, recording..., style); }) {
    return terminal::print_report(to_text(report, recording..., style), style);
  } else {
    return terminal::print_report(to_text(report, style), style);
  }
}

}  // namespace geiger::cli
