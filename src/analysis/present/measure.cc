#include "analysis/present/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/present/format.h"
#include "analysis/profile/select/peak.h"

namespace geiger::present {

using estimation::Estimate;

namespace {

bool is_any_pure(const profile::Recording& recording) {
  return std::any_of(recording.processes.begin(), recording.processes.end(),
                     [](const profile::Process& process) { return process.is_pure; });
}

std::optional<estimation::KnownTotal> known_total(const profile::Recording& recording,
                                                  const profile::Profile& profile) {
  if (profile.kind != profile::Kind::kAllocated || profile.is_part) return std::nullopt;
  return profile::known_allocated(recording);
}

/// Live objects are a part of what was allocated, as long as both are counted as requested.
std::optional<Bytes> most_bytes(const profile::Recording& recording,
                                const profile::Profile& profile) {
  using profile::Kind;
  const bool is_of_live = profile.kind == Kind::kLiveAtEnd || profile.kind == Kind::kLiveAtPeak ||
                          profile.kind == Kind::kTemporary;
  if (!is_of_live || profile.heap != profile::kProcessHeap) return std::nullopt;
  return profile::most_allocated(recording);
}

}  // namespace

WholeSums all_live(const profile::Recording& recording) {
  return {estimation::NodeSums{}, std::nullopt, false, profile::most_allocated(recording)};
}

Measure measure_total(const profile::Recording& recording, const profile::Profile& profile,
                      double level) {
  return Whole(recording, profile).measured(level);
}

std::string one_run_of(const profile::HitCheck& hits) {
  return fmt::format("as in one run of {}", exact_count(whole_number(1 / hits.p_value)));
}

std::string miss_text(const Estimate& estimate, const profile::ProcessTotals& counted,
                      const profile::HitCheck& hits) {
  const auto least = static_cast<double>(counted.exact_bytes);
  const double most = least + static_cast<double>(counted.unsettled_bound);
  // Else the hits do not explain it: the sizes of the samples do.
  constexpr double kUnlikely = 0.1;
  const bool is_high = estimate.interval.lo > most;
  if (!is_high && estimate.interval.hi >= least) return "";
  const double missed = is_high ? estimate.value / most - 1 : 1 - estimate.value / least;
  return fmt::format("{:.2g} % {}, outside its interval{}", 100 * missed, is_high ? "high" : "low",
                     hits.p_value < kUnlikely ? ", " + one_run_of(hits) : "");
}

Whole::Whole(const profile::Recording& recording, const profile::Profile& profile)
    : WholeSums(profile::total(recording, profile), known_total(recording, profile),
                !is_any_pure(recording), most_bytes(recording, profile)),
      recording_(recording),
      peak_(profile.peak) {}

Measure Whole::measured(double level) const {
  Measure total = present::measure_total(sums(), level);
  if (peak_) total.bytes = estimate_peak(recording_, *peak_, total.bytes, level);
  total.calibrated = ended_at(total.bytes, most());
  return total;
}

Measure Whole::measure_total(double level) const {
  Measure total = measured(level);
  if (!known()) return total;
  const auto bytes = static_cast<double>(known()->bytes);
  const auto open = static_cast<double>(known()->open);
  total.calibrated = {bytes, 0, {bytes, bytes + open}, sums().samples, bytes, open};
  return total;
}

const Fields<Estimate>& fields_of(Of<Estimate> /*type*/) {
  static const auto kFields =
      Fields<Estimate>("estimated", "Never a bare number: an estimate with its interval.")
          .field("value", "the estimate, `exact` included", &Estimate::value)
          .field("variance", "its estimated variance; variances of disjoint parts add up",
                 &Estimate::variance)
          .field("lo", "lower limit at the level of the document",
                 [](const Estimate& it) { return it.interval.lo; })
          .field("hi", "upper limit; null where none is known",
                 [](const Estimate& it) { return it.interval.hi; })
          .or_null()
          .field("samples", "the samples behind it that were chosen by chance", &Estimate::samples)
          .field("exact", "the part of `value` that is known without error", &Estimate::exact)
          .field("open", "what samples that may not count add to `hi`",
                 [](const Estimate& it) { return if_true(it.open > 0, it.open); });
  return kFields;
}

const Fields<Measure>& fields_of(Of<Measure> /*type*/) {
  static const auto kFields =
      Fields<Measure>("measure", "Bytes and objects, with the samples behind them.")
          .field("bytes", "estimated from the samples alone", &Measure::bytes)
          .field("objects", "as their upper limit the sampled sizes allow", &Measure::objects)
          .field("samples", "records, certain ones included", &Measure::samples)
          .field("certain_samples", "those recorded because they were as large as the interval",
                 &Measure::certain_samples)
          .field("calibrated",
                 "the bytes given what was counted, of the whole or, of live objects, of all "
                 "allocations: "
                 "what the text shows",
                 &Measure::calibrated);
  return kFields;
}

const Fields<Share>& fields_of(Of<Share> /*type*/) {
  static const auto kFields =
      Fields<Share>("share", "Of the bytes of the whole, 0 to 1; null where nothing is known.")
          .field("value", "", &Share::value)
          .or_null()
          .field("lo", "", [](const Share& it) { return it.interval.lo; })
          .or_null()
          .field("hi", "", [](const Share& it) { return it.interval.hi; })
          .or_null();
  return kFields;
}

using estimation::OffsetReport;
using estimation::Verdict;
using profile::HitCheck;

[[nodiscard]] const Fields<Verdict>& fields_of(Of<Verdict> /*type*/) {
  static const auto kFields = Fields<Verdict>("test", "A test of the recording.")
                                  .field("statistic", "", &Verdict::statistic)
                                  .or_null()
                                  .field("p_value", "", &Verdict::p_value)
                                  .or_null();
  return kFields;
}

const Fields<OffsetReport>& fields_of(Of<OffsetReport> /*type*/) {
  static const auto kFields =
      Fields<OffsetReport>("offset_check",
                           "Where drawn bytes lie in their objects: uniformly, or not.")
          .field("samples", "", &OffsetReport::samples)
          .field("impossible", "outside of their objects", &OffsetReport::impossible)
          .field("p_value", "of all tests together",
                 [](const OffsetReport& it) { return it.p_value(); })
          .or_null()
          .field("anderson_darling", "", &OffsetReport::anderson_darling)
          .field("chi_square", "", &OffsetReport::chi_square)
          .field("bins", "of `chi_square`", &OffsetReport::bins)
          .field("first_byte", "", &OffsetReport::first_byte)
          .field("last_byte", "", &OffsetReport::last_byte);
  return kFields;
}

const Fields<HitCheck>& fields_of(Of<HitCheck> /*type*/) {
  static const auto kFields =
      Fields<HitCheck>("hit_check", "Hits of conclusive threads against their trials.")
          .field("observed", "", &HitCheck::hits)
          .field("is_testable",
                 "false where the interval changed while recording and hits lack their samples",
                 &HitCheck::is_testable)
          .field("expected", "", &HitCheck::expected)
          .or_null()
          .field("z", "difference in standard errors", &HitCheck::z)
          .or_null()
          .field("p_value", "", &HitCheck::p_value)
          .or_null();
  return kFields;
}

}  // namespace geiger::present
