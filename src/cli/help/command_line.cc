#include "cli/help/command_line.h"

#include <fmt/format.h>

#include <algorithm>

namespace geiger::cli {
namespace {

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// True if the option's value is the next word; nothing if the option is unknown.
std::optional<bool> wants_next_word(std::string_view word, const TakesValue& takes_value) {
  if (word.starts_with("--")) {
    const auto equals = word.find('=');
    const auto takes = takes_value(word.substr(0, equals));
    if (!takes) return std::nullopt;
    return *takes && equals == std::string_view::npos;
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    const auto takes = takes_value(std::string{'-', word[i]});
    if (!takes) return std::nullopt;
    if (*takes) return i + 1 == word.size();
  }
  return false;
}

}  // namespace

base::Outcome<CommandLine> divide(const std::vector<std::string>& words,
                                  const TakesValue& takes_value) {
  CommandLine line;
  std::size_t next = 0;
  for (; next < words.size() && is_option(words[next]); ++next) {
    if (words[next] == "--") {
      ++next;
      break;
    }
    const auto wants_next = wants_next_word(words[next], takes_value);
    if (!wants_next) {
      return base::Failure{fmt::format("unknown option '{}'", words[next])};
    }
    line.options.push_back(words[next]);
    if (*wants_next && next + 1 < words.size()) line.options.push_back(words[++next]);
  }
  line.program.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
  return line;
}

void shield_divider(std::vector<std::string>& words) {
  std::ranges::replace(words, std::string("--"), kDivider);
}

}  // namespace geiger::cli
