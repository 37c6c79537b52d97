#include "analysis/compare/limits.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "analysis/compare/site_runs.h"
#include "estimation/difference.h"

namespace geiger::compare {
namespace {

using estimation::NodeSums;
using estimation::SiteRuns;

/// Sites that lend each gate what is known of how much runs differ.
constexpr std::size_t kLenders = 200;
/// No growth is looked for beyond this; it counts as infinite.
constexpr double kMostGrowth = 1e9;

/// The level of intervals whose ends are each missed with a probability of 1 - level.
double two_sided(double level) { return 2 * level - 1; }

Limits limits_of(const estimation::RunDifference& d) { return {d.value, d.interval, d.dispersion}; }

}  // namespace

LimitFinder::LimitFinder(const Collected& collected) : collected_(collected) {
  if (!has_several_runs(collected)) return;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_samples;
  for (std::uint32_t i = 0; i < collected.sites.size(); ++i) {
    const Site& site = collected.sites[i];
    by_samples.emplace_back(site.before.sums.samples + site.after.sums.samples, i);
  }
  std::ranges::sort(by_samples, std::greater<>());
  for (std::size_t i = 0; i < std::min(kLenders, by_samples.size()); ++i) {
    const Site& site = collected.sites[by_samples[i].second];
    lenders_.push_back(as_runs(site.before, site.after, collected));
  }
}

std::vector<Limits> LimitFinder::limits(std::span<const Query> queries, double level) const {
  std::vector<Limits> limits =
      has_several_runs(collected_) ? of_runs(queries, level) : of_sampling(queries, level);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    const Subject& subject = queries[i].subject;
    limits[i].interval.lo -= queries[i].factor * subject.more_before + subject.less_after;
    limits[i].interval.hi += queries[i].factor * subject.less_before + subject.more_after;
  }
  return limits;
}

std::vector<Limits> LimitFinder::of_sampling(std::span<const Query> queries, double level) const {
  std::vector<Limits> limits;
  for (const Query& query : queries) {
    Sides sides = sides_of(*query.subject.before, *query.subject.after, collected_, query.factor);
    if (query.factor == 0) sides.before = {};
    const auto d = estimation::difference(sides.before, sides.after, two_sided(level));
    limits.push_back({d.value, d.interval, 1});
  }
  return limits;
}

SiteRuns LimitFinder::runs_of(const Query& query) const {
  SiteRuns runs = as_runs(*query.subject.before, *query.subject.after, collected_);
  // A side without limits shows nothing about how the other one varies.
  if (query.factor == 0) {
    runs.before.clear();
    runs.before_exposures.clear();
  }
  for (NodeSums& run : runs.before) scale(run, query.factor);
  if (query.subject.is_counted) miss_nothing(runs);
  return runs;
}

std::vector<Limits> LimitFinder::of_runs(std::span<const Query> queries, double level) const {
  std::vector<SiteRuns> together;
  std::vector<Limits> limits(queries.size());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    SiteRuns runs = runs_of(queries[i]);
    if (queries[i].subject.is_whole) {
      limits[i] =
          limits_of(estimation::compare_runs(std::span(&runs, 1), two_sided(level)).sites.front());
      continue;
    }
    together.push_back(std::move(runs));
    places.push_back(i);
  }
  if (places.empty()) return limits;
  together.insert(together.end(), lenders_.begin(), lenders_.end());
  const auto compared = estimation::compare_runs(together, two_sided(level));
  for (std::size_t i = 0; i < places.size(); ++i) {
    limits[places[i]] = limits_of(compared.sites[i]);
  }
  return limits;
}

std::vector<double> LimitFinder::growth_limits(std::span<const Subject> subjects, double level,
                                               bool is_upper) const {
  std::vector<double> low(subjects.size(), 0);
  std::vector<double> high(subjects.size(), kMostGrowth);
  constexpr int kHalvings = 44;  // Of the logarithm: ratios range over many powers of ten.
  constexpr double kLeastRatio = 1e-12;
  for (int i = 0; i < kHalvings; ++i) {
    std::vector<Query> queries;
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      queries.push_back({subjects[s], std::sqrt((low[s] + kLeastRatio) * (high[s] + kLeastRatio))});
    }
    const std::vector<Limits> found = limits(queries, level);
    for (std::size_t s = 0; s < subjects.size(); ++s) {
      const double end = is_upper ? found[s].interval.hi : found[s].interval.lo;
      (end > 0 ? low[s] : high[s]) = queries[s].factor;
    }
  }
  for (double& ratio : low) {
    ratio = ratio > kMostGrowth / 2 ? std::numeric_limits<double>::infinity() : ratio - 1;
  }
  return low;
}

std::vector<double> LimitFinder::lowest_growths(std::span<const Subject> subjects,
                                                double level) const {
  return growth_limits(subjects, level, false);
}

std::vector<double> LimitFinder::highest_growths(std::span<const Subject> subjects,
                                                 double level) const {
  return growth_limits(subjects, level, true);
}

}  // namespace geiger::compare
