#include "cli/help/choice.h"

#include <fmt/format.h>
#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/numbers.h"
#include "query/spelling.h"

namespace geiger::cli {

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto refusal = [words](const std::string& word) -> std::string {
    if (std::ranges::find(words, word) != words.end()) return {};
    const std::string hint = query::did_you_mean(word, words);
    if (!hint.empty()) return fmt::format("unknown '{}'{}", word, hint);
    return fmt::format("invalid value '{}' (choose from {})", word, fmt::join(words, ", "));
  };
  return {refusal, fmt::format("{{{}}}", fmt::join(words, ","))};
}

CLI::Validator process_id() {
  const auto refusal = [](const std::string& word) -> std::string {
    const auto pid = base::number_in<pid_t>(word);
    if (pid && *pid > 0) return {};
    return fmt::format("'{}' is not a process id; 'pidof NAME' prints a program's", word);
  };
  return {refusal, ""};
}

}  // namespace geiger::cli
