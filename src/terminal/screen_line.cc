#include "terminal/screen_line.h"

#include <utility>

#include "analysis/present/text.h"

namespace geiger::terminal {

std::size_t columns_of(const ScreenLine& line) {
  std::size_t columns = 0;
  for (const Span& span : line) columns += present::columns_of(span.text);
  return columns;
}

ScreenLine fitted(ScreenLine line, std::size_t width) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t columns = present::columns_of(line[i].text);
    if (used + columns > width) {
      line[i].text = present::elide(line[i].text, width - used);
      line.resize(i + 1);
      break;
    }
    used += columns;
  }
  return line;
}

void append(ScreenLine& line, Span span) {
  if (!line.empty() && line.back().ink == span.ink) {
    line.back().text += span.text;
  } else {
    line.push_back(std::move(span));
  }
}

}  // namespace geiger::terminal
