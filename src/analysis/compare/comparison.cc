#include "analysis/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "analysis/compare/calibrate.h"
#include "analysis/compare/site_runs.h"
#include "analysis/compare/verdicts.h"
#include "base/check.h"

namespace geiger::compare {
namespace {

using estimation::Difference;
using estimation::Estimate;

/// Two runs of one program with this many samples each have a site in common, unless
/// what allocates in one of them does not exist in the other: 2^-6 < 5 %.
constexpr std::uint64_t kSurelyMet = 6;

bool have_something_in_common(const Collected& collected) {
  return std::ranges::any_of(collected.sites, [](const Site& site) {
    return site.before.samples() > 0 && site.after.samples() > 0;
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
Change sampling_change(Sides sides, double level) {
  auto& [before, after] = sides;
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
          .change = sampling_change(sides_of(before, after, collected), level)};
}

/// Whether the samples of a site could have shown a difference, however they fell.
bool is_testable(const Site& site, const Row& row, const Collected& collected, double alpha) {
  if (row.change.certain != 0) return true;
  const auto [before, after] = sides_of(site.before, site.after, collected);
  return estimation::smallest_attainable_p(before, after) <= alpha;
}

/// Whether samples of the site were seen by both recordings of a process.
bool has_common(const Site& site, const Collected& collected) {
  return is_paired(site.before, site.after, collected) &&
         site.before.samples() > site.before.moved.samples();
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

/// Whether some run counted less than all that was allocated.
bool lacks_counted(const Collected& collected) {
  const auto lacks = [](const RunFacts& run) {
    return std::ranges::any_of(run.gaps, [](const profile::Gap& gap) {
      return gap.concerns(profile::Kind::kAllocated, true);
    });
  };
  return std::ranges::any_of(collected.before.runs, lacks) ||
         std::ranges::any_of(collected.after.runs, lacks);
}

/// How sure the change of counted totals is. Of one run a side it is a fact of these runs.
void judge_counted(ExactTotals& totals, const Collected& collected, double level) {
  const double change = totals.change();
  totals.interval = {change, change};
  if (has_several_runs(collected)) {
    std::vector runs{
        as_runs(counted_side(collected.before), counted_side(collected.after), collected)};
    miss_nothing(runs.front());
    const estimation::RunDifference counted = estimation::compare_runs(runs, level).sites[0];
    totals.interval = counted.interval;
    totals.p_value = counted.p_value;
  } else if (change != 0) {
    totals.p_value = 0;
  }
  totals.interval.lo -= totals.unsettled_before;
  totals.interval.hi += totals.unsettled_after;
  const bool is_zero_open = totals.interval.lo <= 0 && totals.interval.hi >= 0;
  if (is_zero_open && !totals.is_settled()) totals.p_value = 1;
  totals.verdict = lacks_counted(collected) ? Verdict::kTooFew : verdict_of(totals, 1 - level);
}

std::optional<ExactTotals> exact_totals(const Collected& collected, double level) {
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
  judge_counted(totals, collected, level);
  return totals;
}

bool lacks_errors(const Collected& collected) {
  const auto is_of_errors = [](const profile::Gap& gap) {
    return gap.lacks == profile::Gap::Lacks::kErrors;
  };
  const auto is_any = [&](const RunFacts& run) {
    return std::ranges::any_of(run.gaps, is_of_errors);
  };
  return std::ranges::any_of(collected.before.runs, is_any) ||
         std::ranges::any_of(collected.after.runs, is_any);
}

/// Nothing is known of how sure a change is.
void forget_test(Row& row) {
  row.change.p_value = row.change.q_value = row.change.sampling_p = 1;
  row.verdict = Verdict::kTooFew;
}

/// What a side lacks may be the whole of a change: less on a side that lacks a part shows nothing.
void forget_where_parts_lack(Comparison& comparison) {
  const bool before_lacks = !comparison.collected.before.missing_part().empty();
  const bool after_lacks = !comparison.collected.after.missing_part().empty();
  const auto forget = [&](Row& row) {
    if (row.change.value < 0 ? after_lacks : before_lacks) forget_test(row);
  };
  forget(comparison.total);
  for (Row& row : comparison.rows) forget(row);
}

double detectable_new(const Collected& collected, double level) {
  SiteSide before, after;
  before.sums.could_have_sampled(collected.before.total.sums);
  after.sums.could_have_sampled(collected.after.total.sums);
  return estimation::difference(as_side(before, collected.before), as_side(after, collected.after),
                                level)
      .detectable;
}

}  // namespace

base::Outcome<void> check_comparable(const Collected& collected, double level) {
  if (!estimation::is_confidence_level(level)) {
    return base::Failure{"the confidence level must be between 0 and 1"};
  }
  return check_sides(collected);
}

base::Outcome<void> check_sides(const Collected& collected) {
  if (collected.before.runs.empty() || collected.after.runs.empty()) {
    return base::Failure{kEmptySide};
  }
  const bool is_enough =
      std::min(collected.before.total.samples(), collected.after.total.samples()) >= kSurelyMet;
  if (is_enough && !have_something_in_common(collected)) {
    return base::Failure{
        "the two sides have nothing in common: are they runs of the same program?"};
  }
  return {};
}

Comparison compare(Collected collected, double level) {
  GEIGER_ASSERT(check_sides(collected).has_value());
  Comparison out;
  out.level = level;
  out.collected = std::move(collected);
  const Collected& all = out.collected;
  out.total = row_of(all.before.total, all.after.total, all, level);
  out.exact = exact_totals(all, level);
  out.detectable_new = detectable_new(all, level);
  std::vector<std::size_t> tested;
  const bool calibrates = can_calibrate(all);
  for (std::uint32_t i = 0; i < all.sites.size(); ++i) {
    Row row = row_of(all.sites[i].before, all.sites[i].after, all, level);
    if (calibrates) calibrate(row, all.sites[i], all, level);
    row.site = i;
    if (is_testable(all.sites[i], row, all, 1 - level)) {
      tested.push_back(out.rows.size());
    } else if (has_common(all.sites[i], all)) {
      row.verdict = Verdict::kNoise;  // That so few moved is what its samples show.
    }
    out.rows.push_back(row);
  }
  if (has_several_runs(all)) allow_for_runs(out, tested);
  out.total.change.q_value = out.total.change.p_value;
  out.total.verdict = verdict_of(out.total, nullptr, 1 - level);
  out.lacks_errors = lacks_errors(all);
  if (out.lacks_errors) {
    forget_test(out.total);
    for (Row& row : out.rows) forget_test(row);
    tested.clear();
  }
  judge(out, tested);
  forget_where_parts_lack(out);
  put_in_order(out.rows);
  return out;
}

}  // namespace geiger::compare
