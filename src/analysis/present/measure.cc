#include "analysis/present/measure.h"

#include <algorithm>
#include <cmath>

#include "analysis/profile/peak.h"
#include "analysis/profile/totals.h"
#include "estimation/calibration.h"

namespace geiger::present {
namespace {

using estimation::Form;
using estimation::NodeSums;

Measure measure(const NodeSums& sums, double level, Form form) {
  return {estimation::estimate_bytes(sums, level, form),
          estimation::estimate_objects(sums, level, form),
          sums.samples + sums.certain_samples,
          sums.certain_samples,
          !estimation::is_size_known(sums),
          std::nullopt};
}

bool is_any_pure(const profile::Recording& recording) {
  return std::any_of(recording.processes.begin(), recording.processes.end(),
                     [](const profile::Process& process) { return process.is_pure; });
}

}  // namespace

Measure measure_total(const NodeSums& sums, double level) {
  return measure(sums, level, Form::kTotal);
}

Measure measure_total(const profile::Recording& recording, const profile::Profile& profile,
                      double level) {
  return Whole(recording, profile).measured(level);
}

Measure measure_row(const NodeSums& sums, double level) {
  return measure(sums, level, sums.samples > 0 ? Form::kListed : Form::kTotal);
}

Whole::Whole(const profile::Recording& recording, const profile::Profile& profile)
    : recording_(recording), sums_(profile::total(recording, profile)), peak_(profile.peak) {
  if (profile.kind != profile::Kind::kAllocated || profile.is_part) return;
  exact_ = profile::exactly_allocated(recording);
  calibrates_ = exact_ && !is_any_pure(recording);
}

bool Whole::calibrates(const NodeSums& part) const {
  return calibrates_ && estimation::has_enough_to_calibrate(part);
}

double Whole::bytes_for_order(const NodeSums& part) const {
  if (!calibrates(part)) return part.all_bytes();
  return estimation::calibrated_value(part, sums_, static_cast<double>(*exact_));
}

Measure Whole::measured(double level) const {
  Measure total = present::measure_total(sums_, level);
  if (peak_) total.bytes = estimate_peak(recording_, *peak_, total.bytes, level);
  return total;
}

Measure Whole::measure_total(double level) const {
  Measure total = measured(level);
  if (!exact_) return total;
  const auto bytes = static_cast<double>(*exact_);
  total.calibrated = {bytes, 0, {bytes, bytes}, sums_.samples, bytes};
  return total;
}

Measure Whole::calibrated(Measure measure, const NodeSums& part, double level) const {
  if (!calibrates(part)) return measure;
  const auto found = estimation::calibrated_bytes(part, sums_, static_cast<double>(*exact_), level);
  if (found.has_value()) measure.calibrated = found.value();
  return measure;
}

Measure Whole::measure_row(const NodeSums& part, double level) const {
  return calibrated(present::measure_row(part, level), part, level);
}

Measure Whole::measure_others(const NodeSums& part, double level) const {
  return calibrated(present::measure_total(part, level), part, level);
}

const estimation::Estimate& shown_bytes(const Measure& measure) {
  return measure.calibrated ? *measure.calibrated : measure.bytes;
}

std::optional<double> exact_bytes(const Measure& measure) {
  return measure.calibrated ? std::optional(measure.calibrated->value) : std::nullopt;
}

Figure total_figure(const Measure& measure) {
  Figure shown = figure(shown_bytes(measure), Quantity::kBytes);
  if (measure.calibrated && shown.error.empty()) shown.error = "exactly";
  return shown;
}

Figure objects_figure(const Measure& measure) {
  const bool is_exact = measure.bytes.interval.hi < measure.bytes.value + 1;  // No byte unseen.
  if (is_exact || !measure.has_unknown_sizes) return figure(measure.objects, Quantity::kObjects);
  const double least = std::ceil(measure.objects.interval.lo);
  if (least == 0) return {"-", ""};
  return {"≥ " + exact_count(static_cast<std::uint64_t>(least)), ""};
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
          .field("calibrated", "the bytes given the exact total of the whole: what the text shows",
                 &Measure::calibrated);
  return kFields;
}

void write_fields(JsonWriter& json, const Measure& measure) {
  fields_of(Of<Measure>{}).write(json, measure);
}

void write_measure(JsonWriter& json, std::string_view name, const Measure& measure) {
  json.object(name, [&] { write_fields(json, measure); });
}

}  // namespace geiger::present
