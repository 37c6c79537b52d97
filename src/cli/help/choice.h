// Validators of option values: one of a few words, the number of a process.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class Validator;
}

namespace geiger::cli {

/// Refuses every other word, names the one that was probably meant, and describes itself
/// as "{a,b,c}", from where help, manual and completion take the words.
[[nodiscard]] CLI::Validator one_of(const std::vector<std::string>& words);

/// Refuses what is not the number of a process, and explains how to find one.
[[nodiscard]] CLI::Validator process_id();

}  // namespace geiger::cli
