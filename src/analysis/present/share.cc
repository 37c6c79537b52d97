#include "analysis/present/share.h"

#include <algorithm>
#include <cmath>

#include "estimation/estimate.h"
#include "estimation/root_of_squares.h"

namespace geiger::present {

using estimation::Estimate;
using estimation::NodeSums;

namespace {

/// The distance to the limit of two errors, of which one lowers a sum to `lo` at most. Often all of
/// few large objects were seen, and `lo` is the truth: then nothing is left for the other error,
/// unless the distances themselves add up.
double distance(double lowering, double raising, const NodeSums& lowered, const Estimate& to) {
  const bool is_what_was_seen = to.interval.lo <= lowered.certain_bytes + lowered.bytes_seen;
  return is_what_was_seen ? lowering + raising : estimation::root_of_squares(lowering, raising);
}

/// Without the open samples of the part.
Share known_share(const NodeSums& part, const NodeSums& whole, double level) {
  const NodeSums others = estimation::rest_of(part, whole);
  const Estimate mine = estimation::estimate_bytes(part, level);
  const Estimate rest = estimation::estimate_bytes(others, level);
  const double sum = mine.value + rest.value;
  if (!(sum > 0)) return {};
  const double share = mine.value / sum;
  const double below = distance((1 - share) * (mine.value - mine.interval.lo),
                                share * (rest.interval.hi - rest.value), part, mine);
  const double above = distance(share * (rest.value - rest.interval.lo),
                                (1 - share) * (mine.interval.hi - mine.value), others, rest);
  return {share, {std::max(0.0, share - below / sum), std::min(1.0, share + above / sum)}};
}

}  // namespace

Share share_of(const NodeSums& part, const NodeSums& whole, double level) {
  NodeSums known = part;
  known.open = {};
  Share share = known_share(known, whole, level);
  if (!part.has_open()) return share;
  const Share most = known_share(part.at_most(), whole, level);
  share.interval.hi = std::max(share.interval.hi, most.interval.hi);
  return share;
}

Share share_of(const Measure& measure, const NodeSums& part, const Whole& whole, double level) {
  const auto exact = static_cast<double>(whole.exact().value_or(0));
  if (!(exact > 0)) return share_of(part, whole.sums(), level);
  const Estimate& bytes = shown_bytes(measure);
  const auto of_exact = [exact](double value) { return std::min(1.0, value / exact); };
  return {of_exact(bytes.value), {of_exact(bytes.interval.lo), of_exact(bytes.interval.hi)}};
}

const Fields<Share>& fields_of(Of<Share> /*type*/) {
  static const auto kFields =
      Fields<Share>("share", "Of the bytes of the whole, 0 to 1; null where nothing is known.")
          .field("value", "", &Share::value)
          .or_null()
          .field("lo", "", [](const Share& it) { return it.interval.lo; })
          .or_null()
          .field("hi", "", [](const Share& it) { return it.interval.hi; })
          .or_null();
  return kFields;
}

void write_field(JsonWriter& json, const Share& share) { write_value(json.key("share"), share); }

void write_fields(JsonWriter& json, const Measure& self, const Measure& total) {
  json.object("self", [&] { write_fields(json, self); });
  json.object("total", [&] { write_fields(json, total); });
}

}  // namespace geiger::present
