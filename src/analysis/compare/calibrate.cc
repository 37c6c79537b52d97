#include "analysis/compare/calibrate.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "estimation/calibration.h"
#include "estimation/difference.h"

namespace geiger::compare {
namespace {

using estimation::Estimate;
using estimation::NodeSums;

/// A site of so many of all samples is judged by what is left of the total. Below, its own samples
/// are almost as good.
constexpr double kMostOfAll = 0.75;

bool is_one_counted_run(const SideFacts& facts) {
  return facts.runs.size() == 1 && facts.runs.front().calibrates;
}

double exact_bytes(const SideFacts& facts) {
  return static_cast<double>(facts.runs.front().exact_bytes);
}

/// A side of a row as `table` shows it, per unit of exposure; nothing with too few samples.
std::optional<Estimate> calibrated(const NodeSums& sums, const SideFacts& facts, double level) {
  if (!estimation::has_enough_to_calibrate(sums)) return std::nullopt;
  const auto found =
      estimation::calibrated_bytes(sums, facts.total.sums, exact_bytes(facts), level);
  if (!found.has_value()) return std::nullopt;
  const double exposure = facts.exposure();
  Estimate bytes = found.value();
  bytes.value /= exposure;
  bytes.variance /= exposure * exposure;
  bytes.interval = {bytes.interval.lo / exposure, bytes.interval.hi / exposure};
  bytes.exact /= exposure;
  return bytes;
}

/// Whether most samples of both sides are the site's.
bool is_most(const Site& site, const Collected& collected) {
  const auto own = static_cast<double>(site.before.sums.samples + site.after.sums.samples);
  const auto all =
      static_cast<double>(collected.before.total.sums.samples + collected.after.total.sums.samples);
  return own > kMostOfAll * all;
}

/// What is not of the site, with `known` bytes per unit of exposure beside it. All its certain
/// bytes take part: the question is that of the site's, sampled or not.
estimation::Side rest_of(const SiteSide& site, const SideFacts& facts, double known) {
  estimation::Side rest;
  rest.exposure = facts.exposure();
  rest.sums = estimation::rest_of(site.sums.at_most(), facts.total.sums);
  rest.sums.open = site.sums.open;
  rest.sums.certain_bytes += known * rest.exposure;
  rest.uneven_bytes = rest.sums.certain_bytes;
  return rest;
}

/// The site has the same bytes on both sides if the rest changed by as much as the total.
void judge_by_rest(Change& change, const Site& site, const Collected& collected, double level) {
  const double total = exact_bytes(collected.after) / collected.after.exposure() -
                       exact_bytes(collected.before) / collected.before.exposure();
  const estimation::Difference rest =
      estimation::difference(rest_of(site.before, collected.before, std::max(total, 0.0)),
                             rest_of(site.after, collected.after, std::max(-total, 0.0)), level);
  change.p_value = change.sampling_p = rest.p_value;
  change.detectable = rest.detectable;
}

}  // namespace

bool can_calibrate(const Collected& collected) {
  return collected.kind == profile::Kind::kAllocated && !collected.is_part &&
         !collected.after.shares_process && !collected.grouping.has_callers &&
         is_one_counted_run(collected.before) && is_one_counted_run(collected.after);
}

void calibrate(Row& row, const Site& site, const Collected& collected, double level) {
  GEIGER_ASSERT(can_calibrate(collected));
  const auto before = calibrated(site.before.sums, collected.before, level);
  const auto after = calibrated(site.after.sums, collected.after, level);
  const auto most_before = calibrated(site.before.sums.at_most(), collected.before, level);
  const auto most_after = calibrated(site.after.sums.at_most(), collected.after, level);
  if (!before || !after || !most_before || !most_after) return;
  row.before = *before;
  row.after = *after;
  row.change.value = after->value - before->value;
  row.change.interval = {estimation::difference_interval(*most_before, *after).lo,
                         estimation::difference_interval(*before, *most_after).hi};
  if (is_most(site, collected)) judge_by_rest(row.change, site, collected, level);
}

}  // namespace geiger::compare
