// Completion scripts, made of the command tree. They are self-contained: at the prompt they run
// geiger only to list the processes that have it loaded.
#pragma once

#include <string>

#include "cli/help/command_tree.h"

namespace geiger::cli {

/// For `complete -F`; needs bash 4 and nothing else.
[[nodiscard]] std::string bash_completion(const VerbFacts& geiger);
/// A file `_geiger` of zsh's $fpath.
[[nodiscard]] std::string zsh_completion(const VerbFacts& geiger);
/// A file geiger.fish of fish's completions.
[[nodiscard]] std::string fish_completion(const VerbFacts& geiger);

/// `text` in single quotes, for any of the three shells; on one line.
[[nodiscard]] std::string shell_quoted(const std::string& text);
/// The first line of a help text without what follows a ";" or " (", for a list of options.
[[nodiscard]] std::string short_help(const OptionFacts& option);

}  // namespace geiger::cli
