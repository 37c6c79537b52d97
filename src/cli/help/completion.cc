#include "cli/help/completion.h"

#include <algorithm>

namespace geiger::cli {

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    // Ended, an escaped quote, begun again: the one form that all three read alike.
    if (c == '\'')
      out += "'\\''";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string short_help(const OptionFacts& option) {
  const std::string line = option.help.substr(0, option.help.find('\n'));
  const std::size_t end = std::min(line.find(';'), line.find(" ("));
  std::string text = line.substr(0, end);
  while (text.ends_with(':') || text.ends_with(',')) text.pop_back();
  return text;
}

}  // namespace geiger::cli
