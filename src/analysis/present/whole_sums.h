// Computes the numbers that reports show from sums alone, in the terminal and in pages.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/present/format.h"
#include "base/units.h"
#include "estimation/calibration.h"
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
  /// The bytes given what was counted, where that makes them surer: what reports show then. Of a
  /// whole whose total is known that total; of live objects at most what was allocated.
  std::optional<estimation::Estimate> calibrated;
};

/// True if at least one sample is behind the sums.
[[nodiscard]] inline bool is_seen(const estimation::NodeSums& sums) {
  return sums.samples + sums.certain_samples > 0;
}

/// The measure of a total, or of a node that would be shown without samples as well.
[[nodiscard]] Measure measure_total(const estimation::NodeSums& sums, double level);

/// The measure of a row that is listed because it was sampled: the interval allows for that.
[[nodiscard]] Measure measure_row(const estimation::NodeSums& sums, double level);

/// The bytes of a part that has at most `most`: what samples say beyond that is their error.
/// Nothing if they say less.
[[nodiscard]] std::optional<estimation::Estimate> ended_at(const estimation::Estimate& part,
                                                           std::optional<Bytes> most);

/// The sums of a whole, of which rows are parts. Of what was allocated the total may be known, and
/// live objects are at most all of that.
class WholeSums {
 public:
  /// `calibrates`: measures of parts are calibrated to the total, where that is known.
  WholeSums(const estimation::NodeSums& sums, std::optional<estimation::KnownTotal> known,
            bool calibrates, std::optional<Bytes> most = std::nullopt)
      : sums_(sums), known_(known), calibrates_(known && calibrates), most_(most) {}

  [[nodiscard]] const estimation::NodeSums& sums() const { return sums_; }
  /// Nothing for other kinds than allocated, nor for a part of it: a window, a filter.
  [[nodiscard]] std::optional<estimation::KnownTotal> known() const { return known_; }
  /// Known to the byte.
  [[nodiscard]] std::optional<Bytes> exact() const {
    return known_ && known_->open == 0 ? std::optional(known_->bytes) : std::nullopt;
  }
  /// The total, where measures of parts with enough samples are calibrated to it:
  /// not in pure recordings, for whose large objects that does not keep its coverage.
  [[nodiscard]] std::optional<estimation::KnownTotal> calibrated_to() const {
    return calibrates_ ? known_ : std::nullopt;
  }
  /// What the whole and each part may have at most.
  [[nodiscard]] std::optional<Bytes> most() const { return most_; }
  /// Bytes of a part as measure_row shows them, without their error: for sorting
  /// and cutting off only.
  [[nodiscard]] double bytes_for_order(const estimation::NodeSums& part) const;
  /// The bytes of a part, `sampled` by its samples alone, given what was counted; nothing where
  /// that does not make them surer.
  [[nodiscard]] std::optional<estimation::Estimate> calibrated(const estimation::NodeSums& part,
                                                               const estimation::Estimate& sampled,
                                                               double level) const;

  /// Of a row that is listed because it was sampled.
  [[nodiscard]] Measure measure_row(const estimation::NodeSums& part, double level) const;
  /// Of a part that would be shown without samples as well: all rows together that are not listed.
  [[nodiscard]] Measure measure_part(const estimation::NodeSums& part, double level) const;

 private:
  [[nodiscard]] bool calibrates(const estimation::NodeSums& part) const;

  estimation::NodeSums sums_;
  std::optional<estimation::KnownTotal> known_;
  bool calibrates_;
  std::optional<Bytes> most_;
};

/// Share of `part` in `whole` by bytes; zero when the whole is empty. Part and
/// rest are sampled independently, so the distances to their limits add in
/// squares (MOVER), or as they are where a lower limit is what was seen
/// (docs/internals/estimators.md, section 13). The sums of `part` are among those of `whole`.
[[nodiscard]] Share share_of(const estimation::NodeSums& part, const estimation::NodeSums& whole,
                             double level);

/// Share of a row in its whole; of the total where that is known, so that a share is as sure
/// as the bytes of its row, calibrated or not.
[[nodiscard]] Share share_of(const Measure& measure, const estimation::NodeSums& part,
                             const WholeSums& whole, double level);

/// The bytes to show: calibrated ones if there are any.
[[nodiscard]] const estimation::Estimate& shown_bytes(const Measure& measure);
/// The same, but what samples say where the bytes were counted.
[[nodiscard]] const estimation::Estimate& estimated_bytes(const Measure& measure);
/// Whether calibrated bytes are a total that was counted, with what is open of it.
[[nodiscard]] bool is_counted(const Measure& measure);
/// The total, where bytes are calibrated to it and it is known to the byte.
[[nodiscard]] std::optional<double> exact_bytes(const Measure& measure);
/// The bytes to show as text; an exact total reads "265.5 MiB exactly", one
/// that is open "265.5 MiB + at most 433 KiB".
[[nodiscard]] Figure total_figure(const Measure& measure);

/// Whether the upper limit of the objects says something: where too few sizes were seen, only that
/// of the bytes does.
[[nodiscard]] bool has_objects_interval(const Measure& measure);
/// The objects of a node as text: "≥ 3" or "-" without has_objects_interval.
[[nodiscard]] Figure objects_figure(const Measure& measure);
/// "12 ± 3 objects", "1 object", "at least 1 object", "an unknown number of objects".
[[nodiscard]] std::string objects_text(const Measure& measure);

}  // namespace geiger::present
