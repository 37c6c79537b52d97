#include "query/ratio.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/numbers.h"

namespace geiger::query {
namespace {

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  const auto value = base::number_in<double>(text, std::chars_format::fixed);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

/// "5%" and "5 %" are .05.
std::optional<double> parse_percentage(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  if (text.ends_with(' ')) text.remove_suffix(1);
  const auto percent = parse_number(text);
  return percent ? std::optional(*percent / 100) : std::nullopt;
}

/// A bare number from 1 on is more likely a forgotten % than a factor.
std::optional<double> parse_ratio(std::string_view text) {
  if (text.ends_with('%')) return parse_percentage(text);
  const auto value = parse_number(text);
  return value && std::abs(*value) < 1 ? value : std::nullopt;
}

}  // namespace

base::Outcome<double> parse_share(std::string_view text) {
  const auto ratio = parse_ratio(text);
  if (ratio && *ratio > 0) return *ratio;
  return base::Failure{fmt::format("'{}' is not a share (try 5% or 0.05)", text)};
}

base::Outcome<double> parse_change(std::string_view text) {
  if (text.ends_with('x')) {
    const auto factor = parse_number(text.substr(0, text.size() - 1));
    if (factor && *factor > 0 && *factor != 1) return *factor - 1;
  } else if (const auto ratio = parse_ratio(text); ratio && *ratio > -1 && *ratio != 0) {
    return *ratio;
  }
  return base::Failure{fmt::format("'{}' is not a change (try 10%, -5% or 2x)", text)};
}

base::Outcome<double> parse_growth(std::string_view text) {
  constexpr double kMost = 1e4;
  const auto growth = parse_percentage(text);
  if (growth && *growth > -1 && *growth <= kMost) return *growth;
  return base::Failure{fmt::format("'{}' is not a growth limit (try 5%)", text)};
}

}  // namespace geiger::query
