// Computes the numbers that reports show from a profile.
#pragma once

#include <optional>
#include <string_view>

#include "analysis/present/fields.h"
#include "analysis/present/json.h"
#include "analysis/present/whole_sums.h"
#include "analysis/profile/profile.h"

namespace geiger::present {

/// The sums of a whole profile, and its measures. The recording outlives it.
class Whole : public WholeSums {
 public:
  Whole(const profile::Recording& recording, const profile::Profile& profile);

  /// Not calibrated. The bytes of a peak are those of the largest heap (peak.h).
  [[nodiscard]] Measure measured(double level) const;
  [[nodiscard]] Measure measure_total(double level) const;

 private:
  const profile::Recording& recording_;
  std::optional<profile::PeakTotal> peak_;
};

/// Whole::measured of the profile.
[[nodiscard]] Measure measure_total(const profile::Recording& recording,
                                    const profile::Profile& profile, double level);

[[nodiscard]] const Fields<estimation::Estimate>& fields_of(Of<estimation::Estimate> /*type*/);
[[nodiscard]] const Fields<Measure>& fields_of(Of<Measure> /*type*/);
[[nodiscard]] const Fields<Share>& fields_of(Of<Share> /*type*/);

}  // namespace geiger::present
