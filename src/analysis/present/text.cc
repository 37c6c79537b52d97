#include "analysis/present/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <utility>

#include "analysis/naming/display_name.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/utf8_text.h"

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

namespace {

bool needs_no_quotes(char c) {
  constexpr std::string_view kPlain = "_-./+,:@%=";
  const auto u = static_cast<unsigned char>(c);
  return u >= 0x80 || std::isalnum(u) != 0 || kPlain.find(c) != std::string_view::npos;
}

constexpr std::string_view kCalledBy = " < ";

/// Where ":25" of a place is, or ":23-25".
struct LineOfPlace {
  std::size_t begin = 0, end = 0;
};

std::optional<LineOfPlace> line_of_place(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  std::size_t end = text.find_last_not_of(kDigits) + 1;
  if (end == text.size() || end < 2) return std::nullopt;
  if (text.substr(0, end).ends_with(" +")) {
    end -= 2;
  } else {
    end = text.size();
  }
  const std::size_t colon = text.rfind(':', end - 1);
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == end) return std::nullopt;
  std::string_view last = text.substr(colon + 1, end - colon - 1);
  const std::string_view first = base::take_part(last, '-');
  const auto is_number = [&](std::string_view part) {
    return part.find_first_not_of(kDigits) == std::string_view::npos;
  };
  if (first.empty() || !is_number(first) || !is_number(last)) return std::nullopt;
  return LineOfPlace{colon, end};
}

/// The first caller; "…", which stands for those left out, goes with the next.
std::string_view take_caller(std::string_view& callers) {
  const std::size_t from = callers.starts_with("… < ") ? std::string_view("… < ").size() : 0;
  const std::size_t end = std::min(callers.find(kCalledBy, from), callers.size());
  const std::string_view caller = callers.substr(0, end);
  callers.remove_prefix(std::min(end + kCalledBy.size(), callers.size()));
  return caller;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (!point.is_valid || is_control(point.value)) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned>(point.value));
    } else if (is_invisible(point.value)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(point.value));
    } else {
      out += text.substr(0, point.length);
    }
    text.remove_prefix(point.length);
  }
  return out;
}

std::string in_markup(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string as_sentence(std::string clause) {
  if (clause.empty()) return clause;
  clause[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(clause[0])));
  if (!clause.ends_with('.')) clause += '.';
  return clause;
}

std::size_t columns_of(std::string_view text) { return naming::columns_of(text); }

std::string elide(std::string_view text, std::size_t columns) {
  return naming::elide(text, columns);
}

bool is_place(std::string_view text) { return line_of_place(text).has_value(); }

std::string fit_place(std::string_view place, std::size_t columns) {
  if (columns_of(place) <= columns) return std::string(place);
  const auto line = line_of_place(place);
  constexpr std::size_t kLeastFile = 4;  // "a….c"
  if (!line) return "";
  const std::string_view file = place.substr(0, line->begin);
  const std::string_view number = place.substr(line->begin, line->end - line->begin);
  if (columns < number.size() + std::min(kLeastFile, columns_of(file))) return "";
  return elide(file, columns - number.size()).append(number);
}

std::string fit_callers(std::string_view callers, std::size_t columns) {
  constexpr std::string_view kMore = " < …";
  std::string out;
  while (!callers.empty()) {
    const std::size_t more = columns_of(kMore);
    const std::string_view name = take_caller(callers);
    const std::size_t left = columns - std::min(columns, callers.empty() ? 0 : more);
    const std::string longer =
        out.empty() ? std::string(name) : out + std::string(kCalledBy).append(name);
    if (columns_of(longer) <= left) {
      out = longer;
    } else if (out.empty()) {
      if (naming::least_columns(name) > left) return "";
      return naming::fit_name(name, left).append(callers.empty() ? "" : kMore);
    } else {
      return out.append(kMore);
    }
  }
  return out;
}

std::string tail_within(std::string_view tail, std::size_t room, std::size_t used) {
  constexpr std::size_t kGap = 2;
  constexpr std::size_t kStub = 8;
  if (tail.empty() || used + kGap >= room) return "";
  const std::size_t left = room - used - kGap;
  std::string shown;
  if (is_place(tail)) {
    shown = fit_place(tail, left);
  } else if (tail.find(kCalledBy) != std::string_view::npos) {
    shown = fit_callers(tail, left);
  } else {
    // A module is of no use in parts.
    const bool is_word = tail.find(' ') == std::string_view::npos;
    if (left >= (is_word ? columns_of(tail) : std::min(kStub, columns_of(tail))))
      shown = elide(tail, left);
  }
  return shown.empty() ? "" : std::string(kGap, ' ') + shown;
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t used = indent;
  while (!text.empty()) {
    const std::string_view word = base::take_part(text, ' ');
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
  while (!lines.empty()) out += wrap(base::take_part(lines), 0, width) + '\n';
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

std::string as_typed(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, needs_no_quotes)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string behind_command(const std::string& run) {
  return run.empty() ? "" : " " + as_typed(printable(run));
}

}  // namespace geiger::present
