#include "analysis/compare/site_runs.h"

#include <cmath>

#include "base/check.h"

namespace geiger::compare {
namespace {

using estimation::NodeSums;
using estimation::Side;

std::vector<NodeSums> run_sums(const SiteSide& side, const SideFacts& facts) {
  std::vector<NodeSums> runs;
  runs.reserve(facts.runs.size());
  for (const RunFacts& run : facts.runs) {
    runs.emplace_back().could_have_sampled(run.largest_interval);
  }
  for (const RunValue& value : side.values) {
    NodeSums& run = runs[value.run];
    run.certain_bytes = value.certain_bytes;
    run.weighted_bytes = value.weighted_bytes;
    run.bytes_variance = value.bytes_variance;
  }
  // The rest matters only when all runs are added: which run carries it is the same.
  if (runs.empty()) return runs;
  runs.front().samples = side.sums.samples;
  runs.front().certain_samples = side.sums.certain_samples;
  runs.front().bytes_seen = side.sums.bytes_seen;
  runs.front().could_have_sampled(side.sums);
  runs.front().open = side.sums.open;
  return runs;
}

std::vector<double> exposures_of(const SideFacts& facts) {
  std::vector<double> exposures;
  exposures.reserve(facts.runs.size());
  for (const RunFacts& run : facts.runs) exposures.push_back(run.exposure);
  return exposures;
}

Side scaled(Side side, double factor) {
  scale(side.sums, factor);
  side.uneven_bytes *= factor;
  return side;
}

/// The samples of a side that the other one has as well.
Side common_of(const SiteSide& side, const SideFacts& facts) {
  return {.sums = estimation::rest_of(side.moved.sums, side.sums),
          .exposure = facts.exposure(),
          .uneven_bytes = side.uneven_bytes - side.moved.uneven_bytes};
}

}  // namespace

void scale(NodeSums& sums, double factor) {
  for (double* bytes : {&sums.largest_interval, &sums.smallest_interval, &sums.largest_weight}) {
    *bytes *= factor;
  }
  for (estimation::SampleSums* own : {static_cast<estimation::SampleSums*>(&sums), &sums.open}) {
    for (double* bytes : {&own->certain_bytes, &own->bytes_seen, &own->weighted_bytes}) {
      *bytes *= factor;
    }
    own->bytes_variance *= factor * factor;
  }
}

Side as_side(const Seen& seen, const SideFacts& facts) {
  return {.sums = seen.sums, .exposure = facts.exposure(), .uneven_bytes = seen.uneven_bytes};
}

bool is_paired(const SiteSide& before, const SiteSide& after, const Collected& collected) {
  if (!collected.after.shares_process) return false;
  // Code that has a name in one recording alone makes two sites of one stack: neither side's
  // samples are the other's then.
  const NodeSums a = common_of(before, collected.before).sums;
  const NodeSums b = common_of(after, collected.after).sums;
  return a.samples == b.samples && a.certain_samples == b.certain_samples &&
         a.bytes_seen == b.bytes_seen && a.certain_bytes == b.certain_bytes;
}

Sides sides_of(const SiteSide& before, const SiteSide& after, const Collected& collected,
               double factor) {
  GEIGER_ASSERT(factor >= 0);
  if (!is_paired(before, after, collected)) {
    return {scaled(as_side(before, collected.before), factor), as_side(after, collected.after)};
  }
  Sides sides{scaled(as_side(before.moved, collected.before), factor),
              as_side(after.moved, collected.after)};
  if (factor == 1) return sides;
  const Side common = scaled(common_of(after, collected.after), std::abs(1 - factor));
  Side& larger = factor > 1 ? sides.before : sides.after;
  larger.sums.merge(common.sums);
  larger.uneven_bytes += common.uneven_bytes;
  return sides;
}

SiteSide counted_side(const SideFacts& facts) {
  SiteSide side;
  for (std::uint32_t run = 0; run < facts.runs.size(); ++run) {
    const auto bytes = static_cast<double>(facts.runs[run].exact_bytes);
    side.values.push_back({run, bytes, 0, 0});
    side.sums.certain_bytes += bytes;
  }
  return side;
}

void miss_nothing(estimation::SiteRuns& runs) {
  for (auto* side : {&runs.before, &runs.after}) {
    for (NodeSums& run : *side) run.miss_nothing();
  }
}

estimation::SiteRuns as_runs(const SiteSide& before, const SiteSide& after,
                             const Collected& collected) {
  return {.before = run_sums(before, collected.before),
          .after = run_sums(after, collected.after),
          .before_exposures = exposures_of(collected.before),
          .after_exposures = exposures_of(collected.after)};
}

}  // namespace geiger::compare
