// Numbers written as texts.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace geiger::base {

/// The number that a text consists of; nothing for any other text, or where it does not fit.
/// `form`: a base or a std::chars_format, as std::from_chars takes them.
template <typename Number, typename... Form>
[[nodiscard]] std::optional<Number> number_in(std::string_view text, Form... form) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, form...);
  return error == std::errc{} && at == end ? std::optional(value) : std::nullopt;
}

}  // namespace geiger::base
