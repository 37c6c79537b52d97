// Error messages for command lines that the parser refused.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace geiger::cli {

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
