// `estimate`: the estimators applied to samples that the user names, with every sum that they go
// through, so that a number can be checked by hand.
#pragma once

#include <optional>
#include <string>

#include "analysis/present/measure.h"
#include "analysis/present/style.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"
#include "study/designs.h"

namespace geiger::study {

/// Additional figures for samples with offsets: the failed trials before every drawn byte.
struct FailedTrials {
  double interval = 0;  ///< T >= 1, the same for all samples.
  double untried = 0;   ///< u: sum of size - offset.
  Unbiased weights;     ///< W: s (T - 1) + u.
};

/// The samples of a node, and every figure that follows from them.
struct Calculation {
  estimation::NodeSums sums;
  double level = 0.95;  ///< In (0, 1).
  estimation::Form form = estimation::Form::kTotal;
  /// Rates of 1/T, as by an exponential law, instead of -ln(1 - 1/T).
  bool is_poisson = false;
  std::optional<FailedTrials> failed_trials;  ///< If every sample has its offset.
};

[[nodiscard]] std::string to_text(const Calculation& calculation, const present::Style& style);
[[nodiscard]] std::string to_json(const Calculation& calculation);

}  // namespace geiger::study
