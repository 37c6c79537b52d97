#include "analysis/symbolize/jit_name.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/numbers.h"

namespace geiger::symbolize {
namespace {

/// What V8 calls functions: since 10 ("JS:"), and before.
constexpr std::array<std::string_view, 5> kScriptTags{
    "JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
/// Where the place begins after a name, which may have blanks itself ("get size").
constexpr std::array<std::string_view, 4> kPlaceStarts{" /", " node:", " file:///", " http"};

/// Takes ":12" off the end.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = base::number_in<std::uint32_t>(text.substr(colon + 1));
  if (number) text = text.substr(0, colon);
  return number;
}

struct Place {
  std::string_view file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// "/srv/app.js:12:17"; releases before 11 have no column.
std::optional<Place> parse_place(std::string_view text) {
  const auto last = take_number(text);
  if (!last || text.empty()) return std::nullopt;
  const auto line = take_number(text);
  constexpr std::string_view kScheme = "file://";
  if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
  return line ? Place{text, *line, *last} : Place{text, *last, 0};
}

std::size_t start_of_place(std::string_view text) {
  std::size_t first = std::string_view::npos;
  for (const std::string_view start : kPlaceStarts) first = std::min(first, text.find(start));
  return first != std::string_view::npos ? first : text.rfind(' ');
}

std::string script_function(std::string_view name, const Place& place) {
  if (!name.empty()) return std::string(name);
  // The code of a file outside of its functions is one that begins with the file.
  return place.line == 1 && place.column <= 1 ? "<module>" : "<anonymous>";
}

std::optional<profile::Frame> script_frame(std::string_view name) {
  const auto* tag = std::ranges::find_if(
      kScriptTags, [&](std::string_view candidate) { return name.starts_with(candidate); });
  if (tag == kScriptTags.end()) return std::nullopt;
  name.remove_prefix(tag->size());
  if (!name.empty() && std::string_view("~^+*'-").find(name.front()) != std::string_view::npos) {
    name.remove_prefix(1);
  }
  const std::size_t blank = start_of_place(name);
  if (blank == std::string_view::npos) return std::nullopt;
  const auto place = parse_place(name.substr(blank + 1));
  if (!place) return std::nullopt;
  const std::string function = script_function(name.substr(0, blank), *place);
  return profile::Frame{function, function, std::string(place->file), place->line};
}

/// "app.Leak.remember(int)" of "void app.Leak.remember(int)": one blank before the parameters, and
/// a class before the method. C++ has "::" there.
std::optional<std::string_view> java_method(std::string_view name) {
  const std::size_t open = name.find('(');
  if (open == std::string_view::npos || !name.ends_with(')') ||
      name.find("::") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t blank = name.find(' ');
  if (blank >= open || name.rfind(' ', open) != blank) return std::nullopt;
  const std::string_view method = name.substr(blank + 1);
  return method.substr(0, open - blank - 1).find('.') != std::string_view::npos
             ? std::optional(method)
             : std::nullopt;
}

}  // namespace

profile::Frame jit_frame(std::string_view name) {
  if (auto frame = script_frame(name)) return std::move(*frame);
  const std::string function(java_method(name).value_or(name));
  return {function, function, "", 0};
}

}  // namespace geiger::symbolize
