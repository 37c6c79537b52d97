#include "analysis/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/compare/site_runs.h"
#include "base/check.h"
#include "estimation/calibration.h"
#include "estimation/difference.h"
#include "estimation/runs.h"

namespace geiger::compare {

// What is said of rows: one way for comparisons of whole sides and of strata.

/// Of a row with its q-value; `site`: null for the whole.
[[nodiscard]] Verdict verdict_of(const Row& row, const Site* site, double alpha);

[[nodiscard]] Verdict verdict_of(const ExactTotals& totals, double alpha);

/// Judges the rows with these indices, which could have shown something, together: sets their
/// q-values and verdicts, and how many they are.
void judge(Comparison& comparison, const std::vector<std::size_t>& tested);

/// Changes first, then by size of the change, the largest first.
void put_in_order(std::vector<Row>& rows);

Verdict verdict_of(const Row& row, const Site* site, double alpha) {
  if (row.change.q_value > alpha || row.change.value == 0) return Verdict::kNoise;
  const bool grew = row.change.value > 0;
  const auto is_seen = [&](const SiteSide& side) { return site == nullptr || side.samples() > 0; };
  // Without samples a site may still have less than its upper limit.
  if (grew && !is_seen(site->before)) {
    return row.before.interval.hi > 0 ? Verdict::kFirstSeen : Verdict::kNew;
  }
  if (!grew && !is_seen(site->after)) {
    return row.after.interval.hi > 0 ? Verdict::kNotSeen : Verdict::kGone;
  }
  return grew ? Verdict::kGrew : Verdict::kShrank;
}

void put_in_order(std::vector<Row>& rows) {
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
    const bool a_changed = is_change(a.verdict);
    const bool b_changed = is_change(b.verdict);
    if (a_changed != b_changed) return a_changed;
    return std::abs(a.change.value) > std::abs(b.change.value);
  });
}

/// Where the test shows a change, 0 and the other sign are excluded.
void end_at_zero(Row& row) {
  if (!is_change(row.verdict)) return;
  estimation::Interval& interval = row.change.interval;
  if (row.change.value > 0) {
    interval.lo = std::max(interval.lo, 0.0);
  } else {
    interval.hi = std::min(interval.hi, 0.0);
  }
}

void judge(Comparison& comparison, const std::vector<std::size_t>& tested) {
  std::vector<double> p;
  p.reserve(tested.size());
  for (const std::size_t i : tested) p.push_back(comparison.rows[i].change.p_value);
  const std::vector<double> q = estimation::adjusted_p_values(p);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    Row& row = comparison.rows[tested[i]];
    row.change.q_value = q[i];
    row.verdict = verdict_of(row, &comparison.collected.sites[row.site], 1 - comparison.level);
    end_at_zero(row);
  }
  comparison.tested = tested.size();
}

Verdict verdict_of(const ExactTotals& totals, double alpha) {
  if (totals.p_value > alpha || totals.change() == 0) return Verdict::kNoise;
  return totals.change() > 0 ? Verdict::kGrew : Verdict::kShrank;
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGrew:
      return "grew";
    case Verdict::kShrank:
      return "shrank";
    case Verdict::kNew:
      return "new";
    case Verdict::kFirstSeen:
      return "first seen";
    case Verdict::kGone:
      return "gone";
    case Verdict::kNotSeen:
      return "not seen";
    case Verdict::kNoise:
      return "noise";
    case Verdict::kTooFew:
      return "too few samples";
  }
  return "";
}

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
  end_at_zero(out.total);
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

namespace {

using estimation::Estimate;

/// What a site is in every collection of the same grouping.
std::string identity_of(const Site& site, const Collected& collected) {
  std::string identity;
  for (const std::uint32_t index : site.places) {
    const Place& place = collected.places[index];
    for (const std::string* text : {&place.name, &place.module, &place.build_id, &place.file}) {
      identity += *text + '\n';
    }
    identity += std::to_string(place.line) + '\n';
  }
  return identity;
}

/// The strata of a site, or of the whole: what it changed by in each.
class Parts {
 public:
  void add(const Row& row, const Collected& collected) {
    const double before = collected.before.exposure(), after = collected.after.exposure();
    estimation::Stratum stratum;
    stratum.before_exposure = before;
    stratum.after_exposure = after;
    stratum.difference.value = row.change.value;
    stratum.difference.interval = row.change.interval;
    stratum.difference.p_value = row.change.p_value;
    strata_.push_back(stratum);
    rows_.push_back(&row);
  }
  /// Of a stratum that one side alone has.
  void add_unmatched(const Collected& collected) {
    estimation::Stratum stratum;
    stratum.before_exposure = collected.before.exposure();
    stratum.after_exposure = collected.after.exposure();
    unmatched_.push_back(stratum);
  }

  /// The row of all, whose site and names stay. Returns the share that is matched.
  double combine(Row& row) const {
    std::vector<estimation::Stratum> all = strata_;
    all.insert(all.end(), unmatched_.begin(), unmatched_.end());
    const estimation::StratifiedDifference whole = estimation::combined(all);
    row.change.value = whole.value;
    row.change.interval = whole.interval;
    row.change.p_value = whole.p_value;
    row.change.q_value = 1;
    row.change.runs_to_find = 0;
    for (estimation::Stratum& stratum : all) stratum.difference.p_value = 1;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      all[i].difference.p_value = rows_[i]->change.sampling_p;
    }
    row.change.sampling_p = estimation::combined(all).p_value;
    row.change.certain = row.change.detectable = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      row.change.certain += share_of(i) * rows_[i]->change.certain;
      row.change.detectable =
          std::hypot(row.change.detectable, share_of(i) * rows_[i]->change.detectable);
    }
    row.before = mean_of(&Row::before);
    row.after = mean_of(&Row::after);
    return whole.matched;
  }

  /// The weight of a stratum.
  [[nodiscard]] double share_of(std::size_t index) const {
    double sum = 0;
    for (const estimation::Stratum& stratum : strata_) sum += estimation::weight_of(stratum);
    return estimation::weight_of(strata_[index]) / sum;
  }

 private:
  /// A side, weighted as the change is.
  [[nodiscard]] Estimate mean_of(Estimate Row::*side) const {
    Estimate mean;
    double down = 0, up = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Estimate& own = rows_[i]->*side;
      const double share = share_of(i);
      mean.value += share * own.value;
      mean.variance += share * share * own.variance;
      mean.exact += share * own.exact;
      mean.samples += own.samples;
      down = std::hypot(down, share * (own.value - own.interval.lo));
      up = std::hypot(up, share * (own.interval.hi - own.value));
    }
    mean.interval = {mean.value - down, mean.value + up};
    return mean;
  }

  std::vector<estimation::Stratum> strata_, unmatched_;
  std::vector<const Row*> rows_;
};

/// Adds the sites that only other strata have seen: they could have been seen here, too.
void add_missing(Collected& stratum, const std::vector<std::string>& wanted,
                 std::map<std::string, std::uint32_t>& known) {
  for (std::uint32_t i = 0; i < stratum.sites.size(); ++i) {
    known.emplace(identity_of(stratum.sites[i], stratum), i);
  }
  for (const std::string& identity : wanted) {
    const auto next = static_cast<std::uint32_t>(stratum.sites.size());
    if (!known.emplace(identity, next).second) continue;
    Site& site = stratum.sites.emplace_back();
    site.before.sums.could_have_sampled(stratum.before.total.sums);
    site.after.sums.could_have_sampled(stratum.after.total.sums);
  }
}

bool has_both_sides(const Collected& collected) {
  return !collected.before.runs.empty() && !collected.after.runs.empty();
}

/// Of runs of one stratum; nothing if some stratum does not show it.
std::optional<double> deviation_within(const std::vector<Comparison>& strata, const Parts& whole) {
  double mean = 0;
  for (std::size_t i = 0; i < strata.size(); ++i) {
    if (!strata[i].run_deviation) return std::nullopt;
    mean += whole.share_of(i) * *strata[i].run_deviation;
  }
  return mean;
}

std::optional<ExactTotals> mean_of_exact(const std::vector<Comparison>& strata, const Parts& whole,
                                         double level) {
  ExactTotals mean;
  double down = 0, up = 0;
  for (std::size_t i = 0; i < strata.size(); ++i) {
    if (!strata[i].exact) return std::nullopt;
    const double share = whole.share_of(i);
    mean.before += share * strata[i].exact->before;
    mean.after += share * strata[i].exact->after;
    mean.unsettled_before += share * strata[i].exact->unsettled_before;
    mean.unsettled_after += share * strata[i].exact->unsettled_after;
    const double change = strata[i].exact->change();
    down = std::hypot(down, share * (change - strata[i].exact->interval.lo));
    up = std::hypot(up, share * (strata[i].exact->interval.hi - change));
  }
  mean.interval = {mean.change() - down, mean.change() + up};
  mean.p_value = mean.interval.lo > 0 || mean.interval.hi < 0 ? 0 : 1;
  mean.verdict = verdict_of(mean, 1 - level);
  return mean;
}

}  // namespace

Comparison compare_within(Collected all, std::vector<Collected> strata, double level) {
  GEIGER_CHECK(std::ranges::any_of(strata, has_both_sides));
  Comparison out = compare(std::move(all), level);
  std::vector<std::string> identities;
  for (const Site& site : out.collected.sites) {
    identities.push_back(identity_of(site, out.collected));
  }
  Parts whole;
  std::vector<Parts> sites(identities.size());
  std::vector<bool> is_tested(identities.size(), false);
  std::vector<Comparison> compared;
  compared.reserve(strata.size());  // The parts point into them.
  for (Collected& stratum : strata) {
    if (!has_both_sides(stratum)) {
      whole.add_unmatched(stratum);
      continue;
    }
    std::map<std::string, std::uint32_t> known;
    add_missing(stratum, identities, known);
    const Comparison& own = compared.emplace_back(compare(std::move(stratum), level));
    whole.add(own.total, own.collected);
    std::vector<const Row*> row_of(own.rows.size(), nullptr);
    for (const Row& row : own.rows) row_of[row.site] = &row;
    for (std::size_t i = 0; i < identities.size(); ++i) {
      const Row& row = *row_of[known.at(identities[i])];
      sites[i].add(row, own.collected);
      is_tested[i] = is_tested[i] || row.verdict != Verdict::kTooFew;
    }
  }
  out.matched = whole.combine(out.total);
  out.strata = compared.size();
  out.exact = mean_of_exact(compared, whole, level);
  out.run_deviation = deviation_within(compared, whole);
  out.total.change.q_value = out.total.change.p_value;
  out.total.verdict = verdict_of(out.total, nullptr, 1 - level);
  end_at_zero(out.total);
  std::vector<std::size_t> tested;
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    Row& row = out.rows[i];
    row.verdict = Verdict::kTooFew;
    static_cast<void>(sites[row.site].combine(row));
    if (is_tested[row.site]) tested.push_back(i);
  }
  judge(out, tested);
  put_in_order(out.rows);
  return out;
}

}  // namespace geiger::compare
