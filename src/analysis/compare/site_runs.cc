#include "analysis/compare/site_runs.h"

namespace geiger::compare {
namespace {

using estimation::NodeSums;

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
  if (side.sums.largest_interval > 0) {
    runs.front().could_have_sampled(side.sums.largest_interval);
  }
  return runs;
}

std::vector<double> exposures_of(const SideFacts& facts) {
  std::vector<double> exposures;
  exposures.reserve(facts.runs.size());
  for (const RunFacts& run : facts.runs) exposures.push_back(run.exposure);
  return exposures;
}

}  // namespace

estimation::Side as_side(const SiteSide& side, const SideFacts& facts) {
  return {.sums = side.sums, .exposure = facts.exposure(), .uneven_bytes = side.uneven_bytes};
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
    for (NodeSums& run : *side) run.largest_interval = 0;
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
