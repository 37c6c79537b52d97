// Confidence limits that gates compare with: of the bytes of a side, and of one side minus a
// multiple of the other, with or without several runs.
#pragma once

#include <span>
#include <vector>

#include "analysis/compare/collector.h"
#include "estimation/dispersion.h"
#include "estimation/estimate.h"

namespace geiger::compare {

/// The site or total that a gate is about.
struct Subject {
  const SiteSide* before = nullptr;
  const SiteSide* after = nullptr;
  /// Counted totals, kept as certain bytes: nothing of them could have been missed.
  bool is_counted = false;
  /// The whole borrows nothing from the sites, which vary more than their sum.
  bool is_whole = false;
  /// Bytes per run that the sides may have beyond what their samples say: unsettled ones, or those
  /// by which a peak may be above the heap at the instant that stands for it, or below.
  double more_before = 0, more_after = 0;
  double less_before = 0, less_after = 0;
};

/// Asks for the limits of after - factor * before, in bytes per run. With factor 0 the before side
/// is ignored.
struct Query {
  Subject subject;
  double factor = 1;
};

struct Limits {
  double value = 0;
  estimation::Interval interval;
  double dispersion = 1;  ///< Variance over that of the sampling alone.
};

/// Answers queries about one collection, which it looks into.
class LimitFinder {
 public:
  explicit LimitFinder(const Collected& collected);

  /// `level`, in (1/2, 1): each limit is missed with a probability of 1 - level.
  [[nodiscard]] std::vector<Limits> limits(std::span<const Query> queries, double level) const;

  /// The least growth (after - before) / before that the limits of after - (1 + growth)
  /// before allow, and the largest: from -1 to infinity.
  [[nodiscard]] std::vector<double> lowest_growths(std::span<const Subject> subjects,
                                                   double level) const;
  [[nodiscard]] std::vector<double> highest_growths(std::span<const Subject> subjects,
                                                    double level) const;

 private:
  [[nodiscard]] std::vector<Limits> of_sampling(std::span<const Query> queries, double level) const;
  [[nodiscard]] std::vector<Limits> of_runs(std::span<const Query> queries, double level) const;
  [[nodiscard]] estimation::SiteRuns runs_of(const Query& query) const;
  [[nodiscard]] std::vector<double> growth_limits(std::span<const Subject> subjects, double level,
                                                  bool is_upper) const;

  const Collected& collected_;
  std::vector<estimation::SiteRuns> lenders_;
};

}  // namespace geiger::compare
