// Computes the numbers that reports show from the sums of a node.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analysis/present/fields.h"
#include "analysis/present/format.h"
#include "analysis/present/json.h"
#include "analysis/profile/profile.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::present {

/// Bytes and objects of a node, with the samples behind them.
struct Measure {
  estimation::Estimate bytes, objects;
  std::uint64_t samples = 0;  ///< Certain ones included.
  std::uint64_t certain_samples = 0;
  /// Too few sizes were seen to bound the objects: only their lower limit says something.
  bool has_unknown_sizes = false;
  /// The bytes given the exact total of the whole, where that is known and makes
  /// them surer: what reports show then.
  std::optional<estimation::Estimate> calibrated;
};

/// True if at least one sample is behind the sums.
[[nodiscard]] inline bool is_seen(const estimation::NodeSums& sums) {
  return sums.samples + sums.certain_samples > 0;
}

/// A whole profile, of which rows are parts. Of what was allocated the exact total
/// may be known. The recording outlives it.
class Whole {
 public:
  Whole(const profile::Recording& recording, const profile::Profile& profile);

  [[nodiscard]] const estimation::NodeSums& sums() const { return sums_; }
  /// Known to the byte; nothing for other kinds than allocated, nor for a part of it: a
  /// window, a filter.
  [[nodiscard]] std::optional<Bytes> exact() const { return exact_; }
  /// The exact total, where measures of parts with enough samples are calibrated to it:
  /// not in pure recordings, for whose large objects that does not keep its coverage.
  [[nodiscard]] std::optional<Bytes> calibrated_to() const {
    return calibrates_ ? exact_ : std::nullopt;
  }
  /// Bytes of a part as measure_row shows them, without their error: for sorting
  /// and cutting off only.
  [[nodiscard]] double bytes_for_order(const estimation::NodeSums& part) const;

  /// Not calibrated. The bytes of a peak are those of the largest heap (peak.h).
  [[nodiscard]] Measure measured(double level) const;
  [[nodiscard]] Measure measure_total(double level) const;
  /// Of a row that is listed because it was sampled.
  [[nodiscard]] Measure measure_row(const estimation::NodeSums& part, double level) const;
  /// The measure of all rows together that are not listed.
  [[nodiscard]] Measure measure_others(const estimation::NodeSums& part, double level) const;

 private:
  [[nodiscard]] Measure calibrated(Measure measure, const estimation::NodeSums& part,
                                   double level) const;
  [[nodiscard]] bool calibrates(const estimation::NodeSums& part) const;

  const profile::Recording& recording_;
  estimation::NodeSums sums_;
  std::optional<profile::PeakScope> peak_;
  std::optional<Bytes> exact_;
  bool calibrates_ = false;
};

/// The bytes to show: calibrated ones if there are any.
[[nodiscard]] const estimation::Estimate& shown_bytes(const Measure& measure);
/// The exact total, where bytes are calibrated to it.
[[nodiscard]] std::optional<double> exact_bytes(const Measure& measure);
/// The bytes to show as text; an exact total reads "265.5 MiB exactly".
[[nodiscard]] Figure total_figure(const Measure& measure);

/// The measure of a total, or of a node that would be shown without samples as well.
[[nodiscard]] Measure measure_total(const estimation::NodeSums& sums, double level);

/// Whole::measured of the profile.
[[nodiscard]] Measure measure_total(const profile::Recording& recording,
                                    const profile::Profile& profile, double level);

/// The measure of a row that is listed because it was sampled: the interval allows for that.
[[nodiscard]] Measure measure_row(const estimation::NodeSums& sums, double level);

/// The objects of a node as text. Where too few sizes were seen only the bytes have an upper
/// limit that says something, so the objects read ">= 3" or "-".
[[nodiscard]] Figure objects_figure(const Measure& measure);

[[nodiscard]] const Fields<estimation::Estimate>& fields_of(Of<estimation::Estimate> /*type*/);
[[nodiscard]] const Fields<Measure>& fields_of(Of<Measure> /*type*/);

/// The fields of a measure in the object that is open.
void write_fields(JsonWriter& json, const Measure& measure);

/// Writes a measure as the object `name`.
void write_measure(JsonWriter& json, std::string_view name, const Measure& measure);

}  // namespace geiger::present
