#include "estimation/strata.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "analysis/compare/comparison.h"
#include "analysis/compare/verdicts.h"
#include "base/check.h"

namespace geiger::compare {
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
