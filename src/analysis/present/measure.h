// Computes the numbers that reports show from a profile, and states them and the tests of its hits
// as fields.
#pragma once

#include <optional>
#include <string_view>

#include "analysis/present/fields.h"
#include "analysis/present/json.h"
#include "analysis/present/whole_sums.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/selfcheck.h"
#include "analysis/profile/select/totals.h"
#include "estimation/distributions/uniformity.h"

namespace geiger::present {

// Computes the numbers that reports show from a profile.

/// The sums of a whole profile, and its measures. The recording outlives it.
class Whole : public WholeSums {
 public:
  Whole(const profile::Recording& recording, const profile::Profile& profile);

  /// Not calibrated to a total. The bytes of a peak are those of the largest heap (peak.h).
  [[nodiscard]] Measure measured(double level) const;
  [[nodiscard]] Measure measure_total(double level) const;

 private:
  const profile::Recording& recording_;
  std::optional<profile::PeakTotal> peak_;
};

/// Of live objects, for measures of any part of them: at most what was allocated.
[[nodiscard]] WholeSums all_live(const profile::Recording& recording);

/// Whole::measured of the profile.
[[nodiscard]] Measure measure_total(const profile::Recording& recording,
                                    const profile::Profile& profile, double level);

[[nodiscard]] const Fields<estimation::Estimate>& fields_of(Of<estimation::Estimate> /*type*/);
[[nodiscard]] const Fields<Measure>& fields_of(Of<Measure> /*type*/);
[[nodiscard]] const Fields<Share>& fields_of(Of<Share> /*type*/);

/// "4.8 % high, outside its interval, as in one run of 26": how an estimate misses what was
/// counted; empty where its interval contains that.
[[nodiscard]] std::string miss_text(const estimation::Estimate& estimate,
                                    const profile::ProcessTotals& counted,
                                    const profile::HitCheck& hits);
/// "as in one run of 26".
[[nodiscard]] std::string one_run_of(const profile::HitCheck& hits);

// The tests of hits and offsets as JSON, for every report that carries them.

[[nodiscard]] const Fields<estimation::OffsetReport>& fields_of(
    Of<estimation::OffsetReport> /*type*/);
[[nodiscard]] const Fields<profile::HitCheck>& fields_of(Of<profile::HitCheck> /*type*/);

}  // namespace geiger::present
