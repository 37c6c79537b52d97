#include "query/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include "base/numbers.h"

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

}  // namespace geiger::query
