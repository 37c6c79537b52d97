#include "analysis/profile/select/thinned.h"

#include <algorithm>
#include <cmath>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/totals.h"

namespace geiger::profile {

namespace {

using estimation::Count;

/// Keeps one draw apart from another that the same bits decide.
constexpr std::uint64_t kThinningSalt = 0x7468696e;

double uniform(std::uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

}  // namespace

bool depends_on_fates(const Selection& selection) {
  const bool is_of_all = selection.kind == Kind::kAllocated || selection.kind == Kind::kOverhead;
  if (is_of_mappings(selection.kind)) return false;
  return !is_of_all || selection.splits_by_lifetime;
}

Count count_of_fate(const Recording& recording, const Sample& sample) {
  Count count = count_of(recording, sample);
  count.keep = recording.processes[sample.process].keep();
  return count;
}

bool is_any_thinned(const Recording& recording) {
  return std::ranges::any_of(recording.processes,
                             [](const Process& process) { return process.thinning > 0; });
}

double complete_from(const Recording& recording, const Profile& profile) {
  const bool is_thinned = profile.is_of_fates && is_any_thinned(recording);
  return is_thinned ? HUGE_VAL : always_recorded_from(recording);
}

double largest_interval_of_fates(const Recording& recording) {
  const double largest = largest_interval(recording);
  if (!is_any_thinned(recording)) return largest;
  double least = 1;
  for (const Process& process : recording.processes) least = std::min(least, process.keep());
  // One coin decides on a whole object: those as large as 1/lambda are missed most easily.
  constexpr double kDrawn = 0.6321205588285577;  // 1 - 1/e, the pi of those.
  return std::max(largest, 1.0) / -std::log1p(-least * kDrawn);
}

estimation::Parts parts_of_fate(const Recording& recording, const Sample& sample,
                                std::uint64_t random) {
  if (sample.is_thinned_out) return {.in_first = false, .in_second = false};
  const double pi = estimation::inclusion_probability(count_of_fate(recording, sample));
  return estimation::split(pi, kLocatingShare, random);
}

bool is_beside_first_part(const Recording& recording, const Sample& sample, std::uint64_t random) {
  if (!parts_of_fate(recording, sample, random).in_first) return true;
  const Count count = count_of_fate(recording, sample);
  const double drawn = estimation::inclusion_probability(count.size, count.lambda);
  const double kept = estimation::inclusion_probability(count);
  return uniform(spread(kThinningSalt, random)) <
         estimation::beside_first_part(drawn, kept, kLocatingShare);
}

Count first_part(const Count& count, double keep) {
  Count part = count;
  const double drawn = estimation::inclusion_probability(count.size, count.lambda);
  part.lambda = estimation::kCertainRate;
  part.keep = estimation::part_of(keep * drawn, kLocatingShare);
  return part;
}

Count second_part(const Count& count, double keep, bool is_of_fates) {
  Count part = count;
  const double drawn = estimation::inclusion_probability(count.size, count.lambda);
  part.lambda = estimation::kCertainRate;
  part.keep = is_of_fates ? estimation::part_of(keep * drawn, 1 - kLocatingShare)
                          : estimation::beside_first_part(drawn, keep * drawn, kLocatingShare);
  return part;
}

}  // namespace geiger::profile
