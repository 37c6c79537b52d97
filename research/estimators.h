// `geiger-study estimators`: the same samples by every design's estimator and interval, so that you
// can see what ours costs and gains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/present/heading.h"
#include "analysis/present/text.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/recording/recording.h"
#include "estimation/estimate.h"
#include "research/average_size.h"

namespace geiger::research {

/// One estimator's answer. Unbiased ones have a variance of their own and an interval; biased ones
/// have neither, and `why` explains the bias.
struct EstimatorLine {
  std::string_view key;   ///< "failed_trials"
  std::string_view name;  ///< "failed trials"
  double value = 0;
  std::optional<double> variance;
  std::optional<estimation::Interval> interval;
  std::string_view interval_by;  ///< "FF-SG", ...; empty without interval.
  std::optional<double> error;   ///< Relative to the exact total, where known.
  std::string_view why;
};

/// All estimators over one set of samples.
struct EstimatorTable {
  std::string name, detail;  ///< Of the call site; empty for the whole run.
  std::uint64_t samples = 0, certain_samples = 0;
  std::vector<EstimatorLine> bytes, objects;
  std::optional<AverageSize> average_size;
};

/// One way to an interval for the bytes of all that is selected.
struct IntervalLine {
  std::string_view key, name;
  std::optional<estimation::Interval> interval;  ///< None where it has no answer.
  std::optional<bool> holds;                     ///< The exact total lies within.
  std::string_view why;
};

/// Objects of one size, by exact limits (Clopper and Pearson's for the index of a
/// binomial): no other size can hide behind them.
struct SizeLine {
  Bytes size = 0;
  Bytes interval = 0;  ///< T that they were drawn with.
  estimation::Estimate objects;
};

struct EstimatorsReport {
  double level = 0.95;
  profile::Kind kind = profile::Kind::kAllocated;
  present::Scope scope;
  std::optional<Bytes> exact;    ///< Known to the byte.
  std::uint64_t impossible = 0;  ///< Samples with offsets that cannot be, left out.
  EstimatorTable whole;
  std::vector<IntervalLine> intervals;
  std::vector<SizeLine> sizes;        ///< The five sizes with most samples.
  std::vector<EstimatorTable> sites;  ///< The stacks with most bytes, at most three.
};

/// What `selection` chooses; not at the peak, nor at instants chosen by a part of the
/// samples. `level` in (0, 1).
[[nodiscard]] EstimatorsReport estimators_report(const profile::Recording& recording, double level,
                                                 const profile::Selection& selection = {},
                                                 const present::Scope& scope = {});

[[nodiscard]] std::string to_text(const EstimatorsReport& report, const present::Style& style);
[[nodiscard]] std::string to_json(const EstimatorsReport& report);

}  // namespace geiger::research
