#include "cli/choice.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/command_line.h"

namespace geiger::cli {

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto refusal = [words](const std::string& word) -> std::string {
    if (std::ranges::find(words, word) != words.end()) return {};
    const std::string hint = did_you_mean(word, words);
    if (!hint.empty()) return fmt::format("unknown '{}'{}", word, hint);
    return fmt::format("'{}' is none of {}", word, fmt::join(words, ", "));
  };
  return {refusal, fmt::format("{{{}}}", fmt::join(words, ","))};
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const auto meant = closest(word, candidates);
  return meant ? fmt::format("; did you mean '{}'?", *meant) : "";
}

}  // namespace geiger::cli
