#include "analysis/report/share.h"

#include <algorithm>
#include <cmath>

#include "estimation/estimate.h"

namespace geiger::report {
namespace {

using estimation::Estimate;
using estimation::NodeSums;

/// The rest of a whole; sums are additive, so the difference is one too.
NodeSums rest_of(const NodeSums& part, const NodeSums& whole) {
  NodeSums rest = whole;
  rest.samples -= std::min(part.samples, whole.samples);
  rest.certain_samples -= std::min(part.certain_samples, whole.certain_samples);
  const auto subtract = [](double& from, double what) { from = std::max(0.0, from - what); };
  subtract(rest.certain_bytes, part.certain_bytes);
  subtract(rest.bytes_seen, part.bytes_seen);
  subtract(rest.weighted_bytes, part.weighted_bytes);
  subtract(rest.bytes_variance, part.bytes_variance);
  return rest;
}

}  // namespace

Share share_of(const NodeSums& part, const NodeSums& whole, double level) {
  const Estimate mine = estimation::estimate_bytes(part, level);
  const Estimate rest = estimation::estimate_bytes(rest_of(part, whole), level);
  const double sum = mine.value + rest.value;
  if (!(sum > 0)) return {};
  const double share = mine.value / sum;
  const double below = std::hypot((1 - share) * (mine.value - mine.interval.lo),
                                  share * (rest.interval.hi - rest.value));
  const double above = std::hypot((1 - share) * (mine.interval.hi - mine.value),
                                  share * (rest.value - rest.interval.lo));
  return {share, {std::max(0.0, share - below / sum), std::min(1.0, share + above / sum)}};
}

void write_field(JsonWriter& json, const Share& share) {
  json.key("share").begin_object().field("value", share.value);
  json.field("lo", share.interval.lo).field("hi", share.interval.hi).end_object();
}

}  // namespace geiger::report
