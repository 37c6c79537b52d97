// Every number that a person reads is written here, so that one rule holds
// everywhere: an estimate never appears without its interval.
//
//   812 MiB ± 25               samples on both sides, interval nearly symmetric
//   170 k ± 20 k               the same of objects: k and M are no units of their own
//   512 KiB [16 B, 1.9 MiB]    few samples: the interval leans to one side
//   < 1.9 MiB                  nothing was seen: the upper limit, never 0
//   0 B [0 B, 8.6 MiB]         nothing was seen for certain: samples that may belong are open
//   12 MiB exact + < 1.9 MiB   only objects recorded with certainty were seen
//   812.4 MiB                  known exactly
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"
#include "estimation/estimate.h"

namespace geiger::present {

enum class Quantity : std::uint8_t { kBytes, kObjects };

/// An estimate in two parts, so that tables can align them: "812 MiB", "± 25".
struct Figure {
  std::string value;
  std::string error;  ///< Empty when exact or when `value` is already a limit.
  /// "812 MiB ± 25".
  [[nodiscard]] std::string text() const;
};

/// The estimate as text. Non-finite parts are shown as "?".
[[nodiscard]] Figure figure(const estimation::Estimate& estimate, Quantity quantity);

/// Whether nothing of it is uncertain.
[[nodiscard]] bool is_exact(const estimation::Estimate& estimate);

/// A change of bytes: "+128 MiB ± 17", "-12.0 MiB [-14.2, -9.9]", "+100 MiB" where the
/// interval is a point.
[[nodiscard]] Figure change_figure(double value, const estimation::Interval& interval);
/// The text of a change that is known to be a growth, where words say so: "128 MiB ± 17".
[[nodiscard]] std::string without_plus(const Figure& change);

/// A relative change, 0.12 for 12 %: "+12 % ± 3", "-4.1 % [-9.2, +2.4]", "+12.3 %" where
/// the interval is a point. An upper limit that is infinite is left open: "[+40, ...]".
[[nodiscard]] Figure growth_figure(double value, const estimation::Interval& interval);

/// A probability: "0.04", "0.003", "2e-5", "< 1e-12".
[[nodiscard]] std::string probability(double p);

/// An exactly known number of bytes in binary units: "12.58 GiB", "512 KiB".
[[nodiscard]] std::string exact_bytes(Bytes bytes);
/// A total that was counted, of which at most `open` is not known: "871.1 MiB + at most 433 KiB".
[[nodiscard]] std::string counted_bytes(Bytes bytes, Bytes open);

/// An upper bound, rounded up, and a lower one, rounded down: "1.9 MiB".
[[nodiscard]] std::string bound_bytes(double bytes);
[[nodiscard]] std::string least_bytes(double bytes);

/// An interval in words, rounded outwards: "34.5 MiB to 62.6 MiB".
[[nodiscard]] std::string limits_text(const estimation::Interval& limits, Quantity quantity);

/// An exact count, digits in groups of three: "1,234,567".
[[nodiscard]] std::string exact_count(std::uint64_t count);

/// The nearest whole number, within 0 .. 2^62: what a damaged trace holds may be far outside.
[[nodiscard]] std::uint64_t whole_number(double value);

/// A length of time: "850 ms", "12.4 s", "3 min 12 s", "2 h 05 min".
[[nodiscard]] std::string duration(Nanoseconds time);

/// A level in (0, 1) as per cent: "95 %", "99.9 %".
[[nodiscard]] std::string level_text(double level);

/// Part of a whole, in 0..1, with its interval (whole_sums.h).
struct Share {
  double value = 0;
  estimation::Interval interval;
};
/// "42 % ± 3", "6.4 % ± 0.2"; "95 % [86, 99]" if the interval is lopsided, or ± would go
/// below 0 or above 100 %; "100 %" if the share is exact; "< 1.8 %" if the part has no samples.
[[nodiscard]] Figure figure(const Share& share);

/// An exact share of two counts: "0.3 %"; "0 %" of nothing.
[[nodiscard]] std::string exact_share(std::uint64_t part, std::uint64_t whole);

/// A number of standard errors: "0.4", "-2.1", never "-0.0".
[[nodiscard]] std::string z_score(double z);

/// A p-value: "0.43", "0.0021", "3e-07"; "< 1e-300" where doubles end.
[[nodiscard]] std::string p_value_text(double p);
/// A p-value as an equation: "p = 0.43", "p < 1e-300".
[[nodiscard]] std::string p_equation(double p);

/// "1 sample", "2,000 samples", "3 processes".
[[nodiscard]] std::string plural(std::uint64_t count, std::string_view singular);

}  // namespace geiger::present
