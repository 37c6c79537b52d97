#include "analysis/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/compare/site_runs.h"
#include "base/check.h"
#include "estimation/discoveries.h"

namespace geiger::compare {
namespace {

using estimation::Difference;
using estimation::Estimate;
using estimation::Side;

/// Two runs of one program with so many samples each have a site in common, unless
/// what allocates in one of them does not exist in the other: 2^-6 < 5 %.
constexpr std::uint64_t kSurelyMet = 6;

std::uint64_t samples_of(const SiteSide& side) {
  return side.sums.samples + side.sums.certain_samples;
}

bool is_seen(const SiteSide& side) { return samples_of(side) > 0; }

bool have_something_in_common(const Collected& collected) {
  return std::ranges::any_of(collected.sites, [](const Site& site) {
    return is_seen(site.before) && is_seen(site.after);
  });
}

Estimate per_unit(const SiteSide& side, const SideFacts& facts, double level) {
  Estimate estimate = estimation::estimate_bytes(side.sums, level);
  const double exposure = facts.exposure();
  estimate.value /= exposure;
  estimate.variance /= exposure * exposure;
  estimate.interval = {estimate.interval.lo / exposure, estimate.interval.hi / exposure};
  estimate.exact /= exposure;
  return estimate;
}

/// The change as the sampling alone lets it be known.
Change sampling_change(Side before, Side after, double level) {
  const Difference d = estimation::difference(before, after, level);
  Change change{.value = d.value,
                .interval = d.interval,
                .certain = d.certain,
                .p_value = d.p_value,
                .q_value = 1,
                .detectable = d.detectable,
                .dispersion = 1};
  if (d.certain != 0) {
    // The question is whether the sum of all changed, not the sampled part alone.
    before.uneven_bytes = before.sums.certain_bytes;
    after.uneven_bytes = after.sums.certain_bytes;
    change.p_value = estimation::difference(before, after, level).p_value;
  }
  return change;
}

Row row_of(const SiteSide& before, const SiteSide& after, const Collected& collected,
           double level) {
  return {.before = per_unit(before, collected.before, level),
          .after = per_unit(after, collected.after, level),
          .change = sampling_change(as_side(before, collected.before),
                                    as_side(after, collected.after), level)};
}

/// Whether the samples of a site could have shown a difference, however they fell.
bool is_testable(const Site& site, const Row& row, const Collected& collected, double alpha) {
  if (row.change.certain != 0) return true;
  return estimation::smallest_attainable_p(as_side(site.before, collected.before),
                                           as_side(site.after, collected.after)) <= alpha;
}

void widen(Change& change, const estimation::RunDifference& with_runs) {
  change.interval = with_runs.interval;
  change.p_value = with_runs.p_value;
  change.detectable = with_runs.detectable;
  change.dispersion = with_runs.dispersion;
  change.sampling_p = with_runs.sampling_p;
  change.runs_to_find = with_runs.runs_to_find;
}

/// What the runs say beyond the sampling, for the rows tested and the whole.
void allow_for_runs(Comparison& comparison, const std::vector<std::size_t>& tested) {
  const Collected& all = comparison.collected;
  std::vector<estimation::SiteRuns> runs;
  for (const std::size_t i : tested) {
    const Site& site = all.sites[comparison.rows[i].site];
    runs.push_back(as_runs(site.before, site.after, all));
  }
  const estimation::RunComparison compared = estimation::compare_runs(runs, comparison.level);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    widen(comparison.rows[tested[i]].change, compared.sites[i]);
  }
  comparison.run_deviation = compared.run_deviation;
  // Sites vary more than their sum: the whole borrows nothing from them.
  const std::vector whole{as_runs(all.before.total, all.after.total, all)};
  widen(comparison.total.change, estimation::compare_runs(whole, comparison.level).sites[0]);
}

Verdict verdict_of(const Row& row, const Site* site, double alpha) {
  if (row.change.q_value > alpha || row.change.value == 0) return Verdict::kNoise;
  const bool grew = row.change.value > 0;
  if (site != nullptr && grew && !is_seen(site->before)) return Verdict::kNew;
  if (site != nullptr && !grew && !is_seen(site->after)) return Verdict::kGone;
  return grew ? Verdict::kGrew : Verdict::kShrank;
}

/// Judges the rows that could have shown something, together.
void judge(Comparison& comparison, const std::vector<std::size_t>& tested) {
  std::vector<double> p;
  p.reserve(tested.size());
  for (const std::size_t i : tested) p.push_back(comparison.rows[i].change.p_value);
  const std::vector<double> q = estimation::adjusted_p_values(p);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    Row& row = comparison.rows[tested[i]];
    row.change.q_value = q[i];
    row.verdict = verdict_of(row, &comparison.collected.sites[row.site], 1 - comparison.level);
  }
  comparison.tested = tested.size();
}

std::optional<ExactTotals> exact_totals(const Collected& collected) {
  if (collected.kind != profile::Kind::kAllocated || collected.is_part) return std::nullopt;
  for (const SideFacts* side : {&collected.before, &collected.after}) {
    if (!std::ranges::all_of(side->runs, &RunFacts::is_counted)) return std::nullopt;
  }
  ExactTotals totals;
  const auto average = [](const SideFacts& facts, Bytes RunFacts::*member) {
    double sum = 0;
    for (const RunFacts& run : facts.runs) sum += static_cast<double>(run.*member);
    return sum / facts.exposure();
  };
  totals.before = average(collected.before, &RunFacts::exact_bytes);
  totals.after = average(collected.after, &RunFacts::exact_bytes);
  totals.unsettled_before = average(collected.before, &RunFacts::unsettled_bound);
  totals.unsettled_after = average(collected.after, &RunFacts::unsettled_bound);
  return totals;
}

double detectable_new(const Collected& collected, double level) {
  SiteSide before, after;
  before.sums.could_have_sampled(collected.before.total.sums.largest_interval);
  after.sums.could_have_sampled(collected.after.total.sums.largest_interval);
  return estimation::difference(as_side(before, collected.before), as_side(after, collected.after),
                                level)
      .detectable;
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGrew:
      return "grew";
    case Verdict::kShrank:
      return "shrank";
    case Verdict::kNew:
      return "new";
    case Verdict::kGone:
      return "gone";
    case Verdict::kNoise:
      return "noise";
    case Verdict::kTooFew:
      return "too few samples";
  }
  return "";
}

std::optional<Error> problem_with(const Collected& collected, double level) {
  if (!estimation::is_confidence_level(level)) return Error::kBadLevel;
  return problem_with_sides(collected);
}

std::optional<Error> problem_with_sides(const Collected& collected) {
  if (collected.before.runs.empty() || collected.after.runs.empty()) return Error::kEmptySide;
  const bool is_enough =
      std::min(samples_of(collected.before.total), samples_of(collected.after.total)) >= kSurelyMet;
  if (is_enough && !have_something_in_common(collected)) return Error::kNothingInCommon;
  return std::nullopt;
}

Comparison compare(Collected collected, double level) {
  GEIGER_ASSERT(!problem_with_sides(collected));
  Comparison out;
  out.level = level;
  out.collected = std::move(collected);
  const Collected& all = out.collected;
  out.total = row_of(all.before.total, all.after.total, all, level);
  out.exact = exact_totals(all);
  out.detectable_new = detectable_new(all, level);
  std::vector<std::size_t> tested;
  for (std::uint32_t i = 0; i < all.sites.size(); ++i) {
    Row row = row_of(all.sites[i].before, all.sites[i].after, all, level);
    row.site = i;
    if (is_testable(all.sites[i], row, all, 1 - level)) tested.push_back(out.rows.size());
    out.rows.push_back(row);
  }
  if (has_several_runs(all)) allow_for_runs(out, tested);
  out.total.change.q_value = out.total.change.p_value;
  out.total.verdict = verdict_of(out.total, nullptr, 1 - level);
  judge(out, tested);
  std::ranges::stable_sort(out.rows, [](const Row& a, const Row& b) {
    const bool a_changed = is_change(a.verdict);
    const bool b_changed = is_change(b.verdict);
    if (a_changed != b_changed) return a_changed;
    return std::abs(a.change.value) > std::abs(b.change.value);
  });
  return out;
}

}  // namespace geiger::compare
