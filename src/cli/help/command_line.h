// Words on a command line: those that are not for the parser, choices of one of a few, and
// what is said of refused ones.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.h"

namespace CLI {
class App;
class ParseError;
class Validator;
}  // namespace CLI

namespace geiger::cli {

// Words on a command line that are not for the parser: of `geiger run`, the program's; of verbs
// with two sides, the divider.

/// The words after `run`, divided.
struct CommandLine {
  std::vector<std::string> options;  ///< geiger's own, values included.
  std::vector<std::string> program;  ///< The program and its arguments, verbatim.
};

/// Whether an option ("-o" or "--output") takes a value; nothing if unknown.
using TakesValue = std::function<std::optional<bool>(std::string_view)>;

/// Divides at the first word that is neither an option nor an option's value, or
/// at "--", which belongs to neither side. Accepts --name=value, -oVALUE and
/// clusters of short flags. Fails on an unknown option, so that a mistyped one is
/// never taken for the program.
base::Outcome<CommandLine> divide(const std::vector<std::string>& words,
                                  const TakesValue& takes_value);

/// Replaces "--" between two sides: a control character, which no shell completes to.
inline constexpr char kDivider[] = "\x1d";

/// The parser takes "--" for the end of the options; between two sides it divides them, and options
/// may follow it. Replaces it by kDivider, which the parser leaves alone.
void shield_divider(std::vector<std::string>& words);

// Validators of option values: one of a few words, the number of a process.

/// Refuses every other word, names the one that was probably meant, and describes itself
/// as "{a,b,c}", from where help, manual and completion take the words.
[[nodiscard]] CLI::Validator one_of(const std::vector<std::string>& words);

/// Refuses what is not the number of a process, and explains how to find one.
[[nodiscard]] CLI::Validator process_id();

// Error messages for command lines that the parser refused.

/// The names of the verbs of `app`, in the order of its help.
[[nodiscard]] std::vector<std::string> verb_names(const CLI::App& app);

/// "unknown option '--knid'; did you mean '--kind'?"
[[nodiscard]] std::string unknown_option(const CLI::App& verb, const std::string& word);

/// "--malloc: no value given", if a word is an option with nothing after its "=".
[[nodiscard]] std::optional<std::string> option_without_value(
    const std::vector<std::string>& words);

/// One sentence without a full stop: the mistyped word and what was meant, where that shows;
/// else what the parser says. `words` are those of the command line, the verb first.
[[nodiscard]] std::string refusal_of(const CLI::ParseError& error, const CLI::App& app,
                                     const std::vector<std::string>& words);

}  // namespace geiger::cli
