#include "cli/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

// Edits (insert, delete, replace, swap of neighbours) between two words.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

Outcome<CommandLine> divide(const std::vector<std::string>& words, const TakesValue& takes_value) {
  CommandLine line;
  std::size_t next = 0;
  for (; next < words.size() && is_option(words[next]); ++next) {
    if (words[next] == "--") {
      ++next;
      break;
    }
    const auto wants_next = wants_next_word(words[next], takes_value);
    if (!wants_next) {
      return Outcome<CommandLine>::failure(fmt::format("unknown option '{}'", words[next]));
    }
    line.options.push_back(words[next]);
    if (*wants_next && next + 1 < words.size()) line.options.push_back(words[++next]);
  }
  line.program.assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
  return line;
}

std::optional<std::string> closest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  const std::size_t tolerance = std::max<std::size_t>(1, word.size() / 3);
  std::optional<std::string> best;
  std::size_t best_distance = tolerance + 1;
  for (const auto& candidate : candidates) {
    const std::size_t edits = distance(word, candidate);
    if (edits >= best_distance) continue;
    best = candidate;
    best_distance = edits;
  }
  return best;
}

}  // namespace geiger::cli
