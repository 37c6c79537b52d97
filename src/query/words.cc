#include "query/words.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cmath>
#include <ctime>
#include <numeric>
#include <optional>
#include <span>
#include <string>

#include "base/text.h"

namespace geiger::query {

namespace {

struct Unit {
  std::string_view name;  // lower case
  std::uint64_t factor;
};

constexpr std::array kSizeUnits{
    Unit{"", 1},
    Unit{"b", 1},
    Unit{"kb", 1000},
    Unit{"mb", 1'000'000},
    Unit{"gb", 1'000'000'000},
    Unit{"tb", 1'000'000'000'000},
    Unit{"k", kKiB},
    Unit{"kib", kKiB},
    Unit{"m", kMiB},
    Unit{"mib", kMiB},
    Unit{"g", kGiB},
    Unit{"gib", kGiB},
    Unit{"t", kKiB* kGiB},
    Unit{"tib", kKiB* kGiB},
};

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::array kTimeUnits{
    Unit{"", kSecond}, Unit{"s", kSecond},      Unit{"ms", kSecond / 1000}, Unit{"us", 1000},
    Unit{"ns", 1},     Unit{"m", 60 * kSecond}, Unit{"h", 3600 * kSecond},
};

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> factor_of(std::string_view name, std::span<const Unit> units) {
  const std::string lower = to_lower(name);
  const auto unit = std::find_if(units.begin(), units.end(),
                                 [&](const Unit& candidate) { return candidate.name == lower; });
  if (unit == units.end()) return std::nullopt;
  return unit->factor;
}

// Whole numbers stay exact up to 2^64 - 1; only text with a point goes through
// a double. A part of the smallest unit is refused, not rounded.
std::optional<std::uint64_t> scale(std::string_view number, std::uint64_t factor) {
  if (const auto whole = base::number_in<std::uint64_t>(number)) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(*whole, factor, &product)) return std::nullopt;
    return product;
  }
  const auto fraction = base::number_in<double>(number, std::chars_format::fixed);
  if (!fraction) return std::nullopt;
  const double product = std::round(*fraction * static_cast<double>(factor));
  constexpr double kTooLarge = 18446744073709551616.0;  // 2^64
  if (!(product < kTooLarge) || (factor == 1 && product != *fraction)) return std::nullopt;
  return static_cast<std::uint64_t>(product);
}

std::optional<std::uint64_t> parse(std::string_view text, std::span<const Unit> units) {
  text = trim(text);
  const auto digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto factor = factor_of(trim(text.substr(digits)), units);
  if (digits == 0 || !factor) return std::nullopt;
  return scale(text.substr(0, digits), *factor);
}

}  // namespace

base::Outcome<Bytes> parse_size(std::string_view text) {
  if (const auto bytes = parse(text, kSizeUnits)) return *bytes;
  return base::Failure{fmt::format("'{}' is not a size (try 4096, 512KiB, 512kB or 4GiB)", text)};
}

base::Outcome<Nanoseconds> parse_duration(std::string_view text) {
  if (const auto time = parse(text, kTimeUnits)) return *time;
  return base::Failure{fmt::format("'{}' is not a duration (try 10s, 500ms or 2m)", text)};
}

base::Outcome<Nanoseconds> parse_positive_duration(std::string_view text) {
  const auto time = parse_duration(text);
  if (time.has_value() && time.value() == 0) return base::Failure{"must be above 0"};
  return time;
}

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

base::Outcome<std::int64_t> parse_date(std::string_view text, std::int64_t now) {
  constexpr std::array kForms{"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%MZ",
                              "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
  const std::string typed(text);
  for (const char* form : kForms) {
    std::tm parts{};
    const char* end = strptime(typed.c_str(), form, &parts);
    if (end != nullptr && *end == '\0') return std::int64_t{timegm(&parts)};
  }
  const auto ago = parse_duration(text);
  if (ago.has_value()) return now - static_cast<std::int64_t>(ago.value() / 1'000'000'000);
  return base::Failure{fmt::format("invalid date '{}' ({})", text, kDateForms)};
}

std::string date_text(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

namespace {

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

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const auto meant = closest(word, candidates);
  return meant ? fmt::format("; did you mean '{}'?", *meant) : "";
}

}  // namespace geiger::query
