#include "analysis/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

Estimate per_run(const SiteSide& side, const SideFacts& facts, double level) {
  Estimate estimate = estimation::estimate_bytes(side.sums, level);
  const auto runs = static_cast<double>(facts.runs.size());
  estimate.value /= runs;
  estimate.variance /= runs * runs;
  estimate.interval = {estimate.interval.lo / runs, estimate.interval.hi / runs};
  estimate.exact /= runs;
  return estimate;
}

/// Below this p-values are 0 for every purpose here.
constexpr double kSmallestAlpha = 0x1p-52;

/// The p-value of "the same bytes, certain ones included": the smallest alpha whose
/// interval leaves 0 out. The test of the sampled part alone does not answer that
/// where the certain part changed. Bisects log(alpha).
double p_of_all(const Side& before, const Side& after) {
  const auto holds_zero = [&](double log_alpha) {
    const Difference d = estimation::difference(before, after, -std::expm1(log_alpha));
    return d.interval.lo <= 0 && d.interval.hi >= 0;
  };
  double excluded = 0;  // log(alpha) at which 0 is left out, as far as known.
  double held = std::log(kSmallestAlpha);
  if (!holds_zero(held)) return kSmallestAlpha;
  for (int i = 0; i < 40; ++i) {
    const double middle = (excluded + held) / 2;
    (holds_zero(middle) ? held : excluded) = middle;
  }
  return std::exp(excluded);
}

Change change_of(const Side& before, const Side& after, double level) {
  const Difference d = estimation::difference(before, after, level);
  const double p = d.certain == 0 ? d.p_value : p_of_all(before, after);
  return {.value = d.value,
          .interval = d.interval,
          .certain = d.certain,
          .p_value = p,
          .q_value = 1,
          .detectable = d.detectable};
}

Row row_of(const SiteSide& before, const SiteSide& after, const Collected& collected,
           double level) {
  return {.before = per_run(before, collected.before, level),
          .after = per_run(after, collected.after, level),
          .change =
              change_of(as_side(before, collected.before), as_side(after, collected.after), level)};
}

/// Whether the samples of a site could have shown a difference, however they fell.
bool is_testable(const Site& site, const Row& row, const Collected& collected, double alpha) {
  if (row.change.certain != 0) return true;
  return estimation::smallest_attainable_p(as_side(site.before, collected.before),
                                           as_side(site.after, collected.after)) <= alpha;
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
  if (collected.kind != profile::Kind::kAllocated) return std::nullopt;
  ExactTotals totals;
  const auto average = [](const SideFacts& facts, Bytes RunFacts::*member) {
    double sum = 0;
    for (const RunFacts& run : facts.runs) sum += static_cast<double>(run.*member);
    return sum / static_cast<double>(facts.runs.size());
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

Side as_side(const SiteSide& side, const SideFacts& facts) {
  return {.sums = side.sums, .runs = facts.runs.size(), .uneven_bytes = side.uneven_bytes};
}

std::optional<Error> problem_with(const Collected& collected, double level) {
  if (!estimation::is_confidence_level(level)) return Error::kBadLevel;
  if (collected.before.runs.empty() || collected.after.runs.empty()) return Error::kEmptySide;
  const bool is_enough =
      std::min(samples_of(collected.before.total), samples_of(collected.after.total)) >= kSurelyMet;
  if (is_enough && !have_something_in_common(collected)) return Error::kNothingInCommon;
  return std::nullopt;
}

Comparison compare(Collected collected, double level) {
  Comparison out;
  out.level = level;
  out.collected = std::move(collected);
  const Collected& all = out.collected;
  out.total = row_of(all.before.total, all.after.total, all, level);
  out.total.change.q_value = out.total.change.p_value;
  out.total.verdict = verdict_of(out.total, nullptr, 1 - level);
  out.exact = exact_totals(all);
  out.detectable_new = detectable_new(all, level);
  std::vector<std::size_t> tested;
  for (std::uint32_t i = 0; i < all.sites.size(); ++i) {
    Row row = row_of(all.sites[i].before, all.sites[i].after, all, level);
    row.site = i;
    if (is_testable(all.sites[i], row, all, 1 - level)) tested.push_back(out.rows.size());
    out.rows.push_back(row);
  }
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
