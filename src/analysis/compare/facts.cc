// What is known of a run as a whole, and of the runs of a side.
#include <algorithm>
#include <numeric>

#include "analysis/compare/collector.h"
#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/peak.h"
#include "analysis/profile/totals.h"
#include "estimation/estimate.h"

namespace geiger::compare {
namespace {

using profile::Profile;
using profile::Recording;

/// Gates miss each of their limits with a probability of 1 - level.
void add_peak(RunFacts& facts, const Recording& recording, const Profile& profile, double level) {
  if (!profile.peak || !(level > 0.5)) return;  // Such a level is refused later.
  const double two_sided = 2 * level - 1;
  const estimation::Estimate there =
      estimation::estimate_bytes(total(recording, profile), two_sided, estimation::Form::kTotal);
  const estimation::Estimate peak = estimate_peak(recording, *profile.peak, there, two_sided);
  facts.below_instant = std::max(0.0, there.interval.lo - peak.interval.lo);
  facts.above_instant = std::max(0.0, peak.interval.hi - there.interval.hi);
}

}  // namespace

RunFacts facts_of(const Recording& recording, const Profile& profile, double level) {
  const profile::ProcessTotals totals = profile::all_totals(recording);
  RunFacts facts{totals.exact_bytes,          totals.unsettled_bound,
                 profile.largest_interval,    0,
                 recording.processes.size(),  profile::is_counted(recording),
                 profile::gaps_of(recording), profile::has_stacks_at_limit(recording)};
  facts.calibrates = profile::exactly_allocated(recording).has_value() &&
                     std::ranges::none_of(recording.processes, &profile::Process::is_pure);
  add_peak(facts, recording, profile, level);
  for (const profile::Process& process : recording.processes) {
    facts.dropped += std::accumulate(process.drops.begin(), process.drops.end(), std::uint64_t{0});
  }
  return facts;
}

double SideFacts::exposure() const {
  double sum = 0;
  for (const RunFacts& run : runs) sum += run.exposure;
  return sum;
}

bool SideFacts::has_stacks_at_limit() const {
  return std::ranges::any_of(runs, &RunFacts::has_stacks_at_limit);
}

std::string SideFacts::missing_part() const {
  std::string missing;
  for (const RunFacts& run : runs) {
    if (missing.empty()) missing = profile::missing_part(run.gaps);
  }
  return missing;
}

}  // namespace geiger::compare
