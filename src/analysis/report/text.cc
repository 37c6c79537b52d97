#include "analysis/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/utf8.h"

namespace geiger::report {
namespace {

struct Range {
  char32_t first, last;
};

/// Code points that act instead of showing: bidirectional marks and overrides,
/// line separators, zero-width and the byte order mark.
constexpr std::array<Range, 6> kActing{{{0x200b, 0x200f},
                                        {0x2028, 0x202e},
                                        {0x2060, 0x206f},
                                        {0xfeff, 0xfeff},
                                        {0xfff9, 0xfffb},
                                        {0xe0000, 0xe007f}}};

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

bool is_control(char32_t value) { return value < 0x20 || (value >= 0x7f && value < 0xa0); }

std::size_t width_of(char32_t value) {
  if (is_in(kCombining, value)) return 0;
  return is_in(kWide, value) ? 2 : 1;
}

/// Bytes of the longest prefix that is at most `columns` wide.
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

/// First byte of the longest suffix that is at most `columns` wide.
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

}  // namespace

bool is_acting(char32_t value) { return is_control(value) || is_in(kActing, value); }

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (!point.is_valid || is_control(point.value)) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned>(point.value));
    } else if (is_in(kActing, point.value)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(point.value));
    } else {
      out += text.substr(0, point.length);
    }
    text.remove_prefix(point.length);
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    columns += width_of(point.value);
    text.remove_prefix(point.length);
  }
  return columns;
}

std::string elide(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  const std::size_t tail = (columns - 1) / 2;
  const std::size_t head = columns - 1 - tail;
  return fmt::format("{}…{}", text.substr(0, prefix_within(text, head)),
                     text.substr(suffix_within(text, tail)));
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t used = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t columns = columns_of(word);
    const bool is_first = used == indent;
    if (!is_first && used + 1 + columns > width) {
      out += '\n' + std::string(indent, ' ');
      used = indent;
    } else if (!is_first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += columns;
  }
  return out;
}

std::string wrap_lines(std::string_view lines, std::size_t width) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    out += wrap(lines.substr(0, end), 0, width) + '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return out;
}

std::string pad_left(std::string_view text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string(columns > used ? columns - used : 0, ' ').append(text);
}

std::string pad_right(std::string_view text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string(text).append(columns > used ? columns - used : 0, ' ');
}

}  // namespace geiger::report
