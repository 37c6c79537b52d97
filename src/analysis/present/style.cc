#include "analysis/present/style.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace geiger::present {

std::string paint(const Style& style, Role role, std::string_view text) {
  if (!style.has_color || text.empty()) return std::string(text);
  constexpr std::array<std::string_view, 3> kCodes{"1", "2", "33"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes.at(static_cast<std::size_t>(role)), text);
}

std::string to_ascii_marks(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kMarks{{{"±", "+-"},
                                                                                  {"≥", ">="},
                                                                                  {"…", "~"},
                                                                                  {"├", "|"},
                                                                                  {"└", "`"},
                                                                                  {"│", "|"},
                                                                                  {"─", "-"},
                                                                                  {"█", "#"},
                                                                                  {"·", "-"},
                                                                                  {"░", "."}}};
  for (const auto& [mark, plain] : kMarks) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
      text.replace(at, mark.size(), plain);
    }
  }
  return text;
}

}  // namespace geiger::present
