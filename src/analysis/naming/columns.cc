#include "analysis/naming/columns.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace geiger::naming {
namespace {

struct Range {
  char32_t first, last;
};

/// Shown two columns wide by terminals (East Asian wide, emoji).
constexpr std::array<Range, 8> kWide{{{0x1100, 0x115f},
                                      {0x2e80, 0xa4cf},
                                      {0xac00, 0xd7a3},
                                      {0xf900, 0xfaff},
                                      {0xfe30, 0xfe6f},
                                      {0xff00, 0xff60},
                                      {0x1f300, 0x1faff},
                                      {0x20000, 0x3fffd}}};

/// Drawn over the character before them.
constexpr std::array<Range, 4> kCombining{
    {{0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}}};

template <std::size_t kCount>
bool is_in(const std::array<Range, kCount>& ranges, char32_t value) {
  return std::ranges::any_of(
      ranges, [&](const Range& range) { return value >= range.first && value <= range.last; });
}

std::size_t width_of(char32_t value) {
  if (is_in(kCombining, value)) return 0;
  return is_in(kWide, value) ? 2 : 1;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    columns += width_of(point.value);
    text.remove_prefix(point.length);
  }
  return columns;
}

std::size_t prefix_within(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  std::size_t used = 0;
  while (at < text.size()) {
    const CodePoint point = decode_utf8(text.substr(at));
    used += width_of(point.value);
    if (used > columns) break;
    at += point.length;
  }
  return at;
}

std::size_t suffix_within(std::string_view text, std::size_t columns) {
  std::size_t skip = columns_of(text);
  std::size_t at = 0;
  while (at < text.size() && skip > columns) {
    const CodePoint point = decode_utf8(text.substr(at));
    skip -= width_of(point.value);
    at += point.length;
  }
  return at;
}

std::string elide(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  const std::size_t tail = (columns - 1) / 2;
  const std::size_t head = columns - 1 - tail;
  std::string out(text.substr(0, prefix_within(text, head)));
  out += "…";
  return out += text.substr(suffix_within(text, tail));
}

}  // namespace geiger::naming
