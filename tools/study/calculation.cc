#include "study/calculation.h"

#include <fmt/format.h>

#include "analysis/present/format.h"
#include "analysis/present/json.h"
#include "study/negative_binomial.h"

namespace geiger::study {
namespace {

using estimation::Estimate;
using estimation::Form;
using estimation::Interval;

present::Measure measure_of(const Calculation& calculation) {
  const bool is_row = calculation.form == Form::kListed;
  return is_row ? present::measure_row(calculation.sums, calculation.level)
                : present::measure_total(calculation.sums, calculation.level);
}

/// Twice: as reports show it, and to the last digit.
std::string result(const char* name, const Estimate& estimate, const std::string& shown) {
  return fmt::format("{:<8} {}\n         {} [{}, {}]\n", name, shown, estimate.value,
                     estimate.interval.lo, estimate.interval.hi);
}

std::string letter(const char* symbol, double value, const char* meaning) {
  return fmt::format("  {:<3} {:<24} {}\n", symbol, value, meaning);
}

std::string letters(const estimation::NodeSums& sums) {
  return letter("s", static_cast<double>(sums.samples), "samples chosen by chance") +
         letter("B", sums.bytes_seen, "their bytes") +
         letter("Y", sums.weighted_bytes, "bytes they stand for") +
         letter("V", sums.bytes_variance, "estimated variance of Y") +
         letter("C", sums.objects, "objects they stand for") +
         letter("VC", sums.objects_variance, "estimated variance of C") +
         letter("CB", sums.covariance, "estimated covariance of Y and C") +
         letter("c", sums.largest_object_weight, "largest number of objects a sample stands for") +
         letter("E", sums.largest_interval, "largest 1/lambda in force") +
         letter("X", sums.certain_bytes, "bytes recorded with certainty") +
         letter("XC", static_cast<double>(sums.certain_samples), "objects recorded with certainty");
}

/// The limits by the law of the failed trials; nothing where it has no answer.
std::optional<Interval> limits(const Calculation& calculation, Window window) {
  const FailedTrials& trials = *calculation.failed_trials;
  const auto found = failed_trials_interval(calculation.sums.samples, trials.untried,
                                            trials.interval, calculation.level, window);
  if (!found.has_value()) return std::nullopt;
  const double certain = calculation.sums.certain_bytes;
  return Interval{found.value().lo + certain, found.value().hi + certain};
}

/// The estimate with the limits of a recording that does not end at a sample.
std::optional<Estimate> by_failed_trials(const Calculation& calculation) {
  if (!calculation.failed_trials) return std::nullopt;
  const auto window = limits(calculation, Window::kFixed);
  if (!window) return std::nullopt;
  const Unbiased& weights = calculation.failed_trials->weights;
  const double certain = calculation.sums.certain_bytes;
  return Estimate{weights.value + certain, weights.variance, *window, calculation.sums.samples,
                  certain};
}

std::string failed_trials_text(const Calculation& calculation, const present::Style& style) {
  const auto estimate = by_failed_trials(calculation);
  if (!estimate) return "";
  std::string out =
      "\n" + present::paint(style, present::Role::kHeading, "by the offsets (failed trials)") +
      "\n\n";
  out += result("bytes", *estimate, present::figure(*estimate, present::Quantity::kBytes).text());
  if (const auto up_to = limits(calculation, Window::kUpToSample)) {
    out += fmt::format("         [{}, {}] if recording ended at a sample\n", up_to->lo, up_to->hi);
  }
  return out + "\n" +
         letter("u", calculation.failed_trials->untried, "sum of SIZE - OFFSET: bytes not tried") +
         letter("W", calculation.failed_trials->weights.value, "s (INTERVAL - 1) + u") +
         letter("VW", calculation.failed_trials->weights.variance, "estimated variance of W");
}

void write_failed_trials(present::JsonWriter& json, const Calculation& calculation) {
  const auto estimate = by_failed_trials(calculation);
  if (!estimate) return;
  json.key("failed_trials").begin_object().field("bytes", *estimate);
  if (const auto up_to = limits(calculation, Window::kUpToSample)) {
    json.key("up_to_sample").begin_object().field("lo", up_to->lo).field("hi", up_to->hi);
    json.end_object();
  }
  json.field("untried", calculation.failed_trials->untried);
  json.field("interval", calculation.failed_trials->interval).end_object();
}

void write_sums(present::JsonWriter& json, const estimation::NodeSums& sums) {
  json.key("sums").begin_object();
  json.field("samples", sums.samples).field("certain_samples", sums.certain_samples);
  json.field("certain_bytes", sums.certain_bytes).field("bytes_seen", sums.bytes_seen);
  json.field("weighted_bytes", sums.weighted_bytes);
  json.field("bytes_variance", sums.bytes_variance).field("objects", sums.objects);
  json.field("objects_variance", sums.objects_variance).field("covariance", sums.covariance);
  json.field("largest_interval", sums.largest_interval);
  json.field("smallest_interval", sums.smallest_interval);
  json.field("largest_object_weight", sums.largest_object_weight);
  json.end_object();
}

}  // namespace

std::string to_text(const Calculation& calculation, const present::Style& style) {
  const present::Measure measure = measure_of(calculation);
  const bool is_row = calculation.form == Form::kListed;
  std::string out =
      present::paint(style, present::Role::kHeading,
                     fmt::format("{} interval{}", present::level_text(calculation.level),
                                 is_row ? " of a row that is listed because it has samples" : ""));
  out += "\n\n" + result("bytes", measure.bytes,
                         present::figure(measure.bytes, present::Quantity::kBytes).text());
  out += result("objects", measure.objects, present::objects_figure(measure).text());
  return out + "\n" + letters(calculation.sums) + failed_trials_text(calculation, style);
}

std::string to_json(const Calculation& calculation) {
  present::JsonWriter json("estimate");
  json.field("level", calculation.level);
  json.field("form", calculation.form == Form::kListed ? "listed" : "total");
  json.field("rate", calculation.is_poisson ? "poisson" : "bernoulli");
  write_fields(json, measure_of(calculation));
  write_sums(json, calculation.sums);
  write_failed_trials(json, calculation);
  return json.finish();
}

}  // namespace geiger::study
