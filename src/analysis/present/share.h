// The share of a part in its whole, with an interval.
#pragma once

#include "analysis/present/format.h"
#include "analysis/present/json.h"
#include "analysis/present/measure.h"
#include "estimation/sums.h"

namespace geiger::present {

/// Share of `part` in `whole` by bytes; zero when the whole is empty. Part and
/// rest are sampled independently, so the distances to their limits add in
/// squares (MOVER), or as they are where a lower limit is what was seen
/// (docs/estimators.md, section 13). The sums of `part` are among those of `whole`.
[[nodiscard]] Share share_of(const estimation::NodeSums& part, const estimation::NodeSums& whole,
                             double level);

/// Share of a row in its whole; of the exact total where that is known, so that a share is as sure
/// as the bytes of its row, calibrated or not.
[[nodiscard]] Share share_of(const Measure& measure, const estimation::NodeSums& part,
                             const Whole& whole, double level);

[[nodiscard]] const Fields<Share>& fields_of(Of<Share> /*type*/);

/// The field "share".
void write_field(JsonWriter& json, const Share& share);

/// The fields "self" and "total" of a row.
void write_fields(JsonWriter& json, const Measure& self, const Measure& total);

}  // namespace geiger::present
