#include "analysis/present/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace geiger::present {
namespace {

using estimation::Estimate;
using estimation::Interval;

/// Half-widths that differ by less than this share print as one ±.
constexpr double kSymmetric = 0.15;
/// The limit for shares, which have fewer digits.
constexpr double kSymmetricShare = 0.2;
constexpr int kMaxDecimals = 3;

struct Scale {
  double factor;
  const char* name;
};

constexpr std::array<Scale, 7> kByteScales{{{1, "B"},
                                            {0x1p10, "KiB"},
                                            {0x1p20, "MiB"},
                                            {0x1p30, "GiB"},
                                            {0x1p40, "TiB"},
                                            {0x1p50, "PiB"},
                                            {0x1p60, "EiB"}}};
constexpr std::array<Scale, 5> kCountScales{
    {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}}};

enum class Rounding : std::uint8_t { kNearest, kDown, kUp };

/// Counts below this are written out: "9,999", then "10.0 k".
constexpr double kWrittenOut = 1e4;

Scale scale_of(double value, Quantity quantity) {
  if (quantity == Quantity::kObjects) {
    if (value < kWrittenOut) return kCountScales[0];
    std::size_t i = 1;
    while (i + 1 < kCountScales.size() && value >= kCountScales[i + 1].factor) ++i;
    return kCountScales[i];
  }
  std::size_t i = 0;
  // 1023.5 KiB would round to "1024 KiB".
  while (i + 1 < kByteScales.size() && value >= 1023.5 * kByteScales[i].factor) ++i;
  return kByteScales[i];
}

/// Decimals for three significant digits; whole units have none.
int natural_decimals(double scaled, const Scale& scale) {
  if (scale.factor == 1) return 0;
  if (scaled < 9.995) return 2;
  return scaled < 99.95 ? 1 : 0;
}

/// Decimals that show two significant digits of an error.
int error_decimals(double error, const Scale& scale) {
  if (scale.factor == 1 || !(error > 0)) return 0;
  const int digits = 1 - static_cast<int>(std::floor(std::log10(error)));
  return std::clamp(digits, 0, kMaxDecimals);
}

std::string grouped(std::string digits) {
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string number(double scaled, int decimals, Rounding rounding) {
  if (!std::isfinite(scaled)) return "?";
  const double power = std::pow(10.0, decimals);
  // The slack keeps 2.5 from becoming 2.6 because of 2.5000000000000004.
  if (rounding == Rounding::kUp) scaled = std::ceil(scaled * power * (1 - 1e-12)) / power;
  if (rounding == Rounding::kDown) scaled = std::floor(scaled * power * (1 + 1e-12)) / power;
  return decimals == 0 ? grouped(fmt::format("{:.0f}", std::round(scaled)))
                       : fmt::format("{:.{}f}", scaled, decimals);
}

std::string with_unit(const std::string& text, const Scale& scale) {
  return *scale.name == '\0' ? text : fmt::format("{} {}", text, scale.name);
}

std::string natural(double value, Quantity quantity, Rounding rounding) {
  const Scale scale = scale_of(value, quantity);
  const double scaled = value / scale.factor;
  return with_unit(number(scaled, natural_decimals(scaled, scale), rounding), scale);
}

std::string exact_value(double value, Quantity quantity) {
  const std::uint64_t whole = whole_number(value);
  return quantity == Quantity::kBytes ? exact_bytes(whole) : exact_count(whole);
}

bool is_symmetric(const Estimate& estimate) {
  const double below = estimate.value - estimate.interval.lo;
  const double above = estimate.interval.hi - estimate.value;
  return std::abs(above - below) <= kSymmetric * std::max(above, below);
}

Figure plus_minus(const Estimate& estimate, Quantity quantity) {
  const double half =
      std::max(estimate.value - estimate.interval.lo, estimate.interval.hi - estimate.value);
  const Scale scale = scale_of(estimate.value, quantity);
  const int decimals = error_decimals(half / scale.factor, scale);
  const std::string error = number(half / scale.factor, decimals, Rounding::kUp);
  return {with_unit(number(estimate.value / scale.factor, decimals, Rounding::kNearest), scale),
          fmt::format("± {}", quantity == Quantity::kObjects ? with_unit(error, scale) : error)};
}

Figure with_limits(const Estimate& estimate, Quantity quantity) {
  const Interval& limits = estimate.interval;
  const Scale scale = scale_of(estimate.value, quantity);
  // "170 k [114, 277]" would read as 277 objects.
  const bool is_multiple = quantity == Quantity::kObjects && scale.factor > 1;
  const bool one_unit = !is_multiple && scale_of(limits.lo, quantity).factor == scale.factor &&
                        scale_of(limits.hi, quantity).factor == scale.factor;
  const std::string value = natural(estimate.value, quantity, Rounding::kNearest);
  if (!one_unit) {
    return {value, fmt::format("[{}, {}]", natural(limits.lo, quantity, Rounding::kDown),
                               natural(limits.hi, quantity, Rounding::kUp))};
  }
  const int decimals = natural_decimals(estimate.value / scale.factor, scale);
  return {value,
          fmt::format("[{}, {}]", number(limits.lo / scale.factor, decimals, Rounding::kDown),
                      number(limits.hi / scale.factor, decimals, Rounding::kUp))};
}

std::string with_sign(const std::string& number, double value) {
  // What rounds to nothing has no sign.
  if (number.find_first_of("123456789?") == std::string::npos) return number;
  return (value < 0 ? "-" : "+") + number;
}

/// A limit of a change, away from its middle.
std::string signed_limit(double scaled, int decimals, bool is_upper) {
  const bool is_outward = is_upper == (scaled >= 0);
  return with_sign(number(std::abs(scaled), decimals, is_outward ? Rounding::kUp : Rounding::kDown),
                   scaled);
}

/// A change in units of `scale`, with its error in the same unit.
Figure signed_figure(double value, const Interval& interval, const Scale& scale,
                     int most_decimals) {
  const double scaled = value / scale.factor;
  const double below = scaled - interval.lo / scale.factor;
  const double above = interval.hi / scale.factor - scaled;
  const double half = std::max(below, above);
  const auto text = [&](int decimals) {
    return with_unit(with_sign(number(std::abs(scaled), decimals, Rounding::kNearest), scaled),
                     scale);
  };
  const double size = std::max(std::abs(scaled), std::isfinite(half) ? half : below);
  const int natural = std::min(natural_decimals(size, scale), most_decimals);
  if (!(half > 1e-9 * std::abs(scaled))) {
    // One digit more than an estimate gets.
    return {text(scale.factor == 1 ? 0 : std::clamp(natural + 1, 1, std::min(2, most_decimals))),
            ""};
  }
  // The longer arm, on both sides, must not take in a 0 that the interval excludes.
  const bool hides_sign = half >= std::abs(scaled) && (interval.lo >= 0 || interval.hi <= 0);
  if (std::isfinite(half) && std::abs(above - below) <= kSymmetric * half && !hides_sign) {
    const int decimals = error_decimals(half, scale);
    return {text(decimals), fmt::format("± {}", number(half, decimals, Rounding::kUp))};
  }
  const std::string upper =
      std::isfinite(above) ? signed_limit(interval.hi / scale.factor, natural, true) : "…";
  return {text(natural),
          fmt::format("[{}, {}]", signed_limit(interval.lo / scale.factor, natural, false), upper)};
}

}  // namespace

bool is_exact(const Estimate& estimate) {
  return estimate.interval.hi - estimate.interval.lo <= 1e-9 * std::max(1.0, estimate.value);
}

std::string Figure::text() const { return error.empty() ? value : value + " " + error; }

Figure figure(const Estimate& estimate, Quantity quantity) {
  const double unseen = estimate.interval.hi - estimate.exact;
  if (is_exact(estimate)) return {exact_value(estimate.value, quantity), ""};
  if (estimate.samples > 0 || estimate.open > 0) {
    return is_symmetric(estimate) ? plus_minus(estimate, quantity)
                                  : with_limits(estimate, quantity);
  }
  const std::string limit = fmt::format("< {}", natural(unseen, quantity, Rounding::kUp));
  if (estimate.exact <= 0) return {limit, ""};
  return {exact_value(estimate.exact, quantity), fmt::format("exact + {}", limit)};
}

Figure change_figure(double value, const Interval& interval) {
  const double half = std::max(value - interval.lo, interval.hi - value);
  const double size = std::max(std::abs(value), half);
  return signed_figure(value, interval, scale_of(size, Quantity::kBytes), kMaxDecimals);
}

std::string without_plus(const Figure& change) {
  std::string text = change.text();
  if (text.starts_with('+')) text.erase(0, 1);
  return text;
}

Figure growth_figure(double value, const Interval& interval) {
  constexpr Scale kPercent{0.01, "%"};
  return signed_figure(value, interval, kPercent, 1);
}

std::string probability(double p) {
  if (p < 1e-12) return "< 1e-12";
  if (p < 0.001) return fmt::format("{:.0e}", p);
  return p < 0.0995 ? fmt::format("{:.1g}", p) : fmt::format("{:.2f}", p);
}

std::string counted_bytes(Bytes bytes, Bytes open) {
  return open == 0 ? exact_bytes(bytes)
                   : fmt::format("{} + at most {}", exact_bytes(bytes), exact_bytes(open));
}

std::string exact_bytes(Bytes bytes) {
  const auto value = static_cast<double>(bytes);
  const Scale scale = scale_of(value, Quantity::kBytes);
  const double scaled = value / scale.factor;
  const bool is_whole = scaled == std::floor(scaled);
  const int decimals = is_whole ? 0 : std::clamp(natural_decimals(scaled, scale) + 1, 0, 2);
  return with_unit(number(scaled, decimals, Rounding::kNearest), scale);
}

std::string bound_bytes(double bytes) { return natural(bytes, Quantity::kBytes, Rounding::kUp); }

std::string limits_text(const Interval& limits, Quantity quantity) {
  return fmt::format("{} to {}", natural(std::max(0.0, limits.lo), quantity, Rounding::kDown),
                     natural(limits.hi, quantity, Rounding::kUp));
}

std::string least_bytes(double bytes) { return natural(bytes, Quantity::kBytes, Rounding::kDown); }

std::uint64_t whole_number(double value) {
  if (!(value > 0)) return 0;
  return static_cast<std::uint64_t>(std::min(std::round(value), 0x1p62));
}

std::string exact_count(std::uint64_t count) { return grouped(fmt::format_int(count).str()); }

std::string duration(Nanoseconds time) {
  const double seconds = static_cast<double>(time) / 1e9;
  if (time < 1'000) return fmt::format("{} ns", time);
  if (seconds < 0.9995e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 9.995) return fmt::format("{:.2f} s", seconds);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string level_text(double level) { return fmt::format("{:.6g} %", level * 100); }

Figure figure(const Share& share) {
  const double value = 100 * share.value;
  const double lo = 100 * share.interval.lo;
  const double hi = 100 * share.interval.hi;
  const double half = std::max(value - lo, hi - value);
  const int decimals = value < 9.95 || half < 0.95 ? 1 : 0;
  if (share.interval.hi < 0.001 && value > 0) return {"< 0.1 %", ""};
  if (value == 0 && half > 0)
    return {fmt::format("< {} %", number(half, half < 9.95 ? 1 : 0, Rounding::kUp)), ""};
  if (!(half > 1e-9)) return {fmt::format("{:.{}f} %", value, value < 9.95 ? 1 : 0), ""};
  const std::string shown = fmt::format("{:.{}f} %", value, decimals);
  const bool is_both_ways = std::abs(hi + lo - 2 * value) < kSymmetricShare * half;
  if (is_both_ways && value - half >= 0 && value + half <= 100) {
    return {shown, fmt::format("± {}", number(half, half < 9.95 ? decimals : 0, Rounding::kUp))};
  }
  // 99.6 must not read as all of it, nor above its own upper limit.
  const bool is_nearly_all = hi > 99 && hi < 100;
  const std::string limits = fmt::format("[{}, {}]", number(lo, decimals, Rounding::kDown),
                                         number(hi, is_nearly_all ? 1 : decimals, Rounding::kUp));
  if (!is_nearly_all || value < 99.5) return {shown, limits};
  return {number(value, 1, Rounding::kDown) + " %", limits};
}

std::string exact_share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "0 %";
  const double share = 100 * static_cast<double>(part) / static_cast<double>(whole);
  if (part != 0 && share < 0.1) return "< 0.1 %";
  return fmt::format("{:.{}f} %", share, share < 9.95 && part != 0 ? 1 : 0);
}

std::string z_score(double z) { return fmt::format("{:.1f}", std::abs(z) < 0.05 ? 0.0 : z); }

std::string p_value_text(double p) {
  if (!(p >= 1e-300)) return "< 1e-300";
  if (p < 1e-4) return fmt::format("{:.0e}", p);
  return fmt::format("{:.2g}", p);
}

std::string p_equation(double p) { return (p >= 1e-300 ? "p = " : "p ") + p_value_text(p); }

std::string plural(std::uint64_t count, std::string_view singular) {
  const char* const ending = singular.ends_with('s') ? "es" : "s";
  return fmt::format("{} {}{}", exact_count(count), singular, count == 1 ? "" : ending);
}

}  // namespace geiger::present
