// From the sums of a node to the numbers that reports show.
#pragma once

#include <cstdint>

#include "analysis/report/format.h"
#include "analysis/report/json.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::report {

/// Bytes and objects of a node, with the samples behind them.
struct Measure {
  estimation::Estimate bytes, objects;
  std::uint64_t samples = 0;  ///< Certain ones included.
  std::uint64_t certain_samples = 0;
};

/// Of a total, or of a node that would be shown without samples as well.
[[nodiscard]] Measure measure_total(const estimation::NodeSums& sums, double level);

/// Of a row that is listed because it was sampled: the interval allows for that.
[[nodiscard]] Measure measure_row(const estimation::NodeSums& sums, double level);

/// The objects of a node as text. Without uncertain samples only the bytes have a
/// limit that says something, so the objects read ">= 3" or "-".
[[nodiscard]] Figure objects_figure(const Measure& measure);

/// Estimated bytes without their error: for sorting and cutting off only.
[[nodiscard]] double bytes_for_order(const estimation::NodeSums& sums);

/// The fields "bytes", "objects", "samples" and "certain_samples".
void write_fields(JsonWriter& json, const Measure& measure);

}  // namespace geiger::report
