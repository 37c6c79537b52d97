#include "analysis/report/calculation.h"

#include <fmt/format.h>

#include "analysis/report/format.h"
#include "analysis/report/json.h"

namespace geiger::report {
namespace {

using estimation::Estimate;
using estimation::Form;

Measure measure_of(const Calculation& calculation) {
  const bool is_row = calculation.form == Form::kListed;
  return is_row ? measure_row(calculation.sums, calculation.level)
                : measure_total(calculation.sums, calculation.level);
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

void write_sums(JsonWriter& json, const estimation::NodeSums& sums) {
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

std::string to_text(const Calculation& calculation, const Style& style) {
  const Measure measure = measure_of(calculation);
  const bool is_row = calculation.form == Form::kListed;
  std::string out =
      paint(style, Role::kHeading,
            fmt::format("{} interval{}", level_text(calculation.level),
                        is_row ? " of a row that is listed because it has samples" : ""));
  out += "\n\n" + result("bytes", measure.bytes, figure(measure.bytes, Quantity::kBytes).text());
  out += result("objects", measure.objects, objects_figure(measure).text());
  return out + "\n" + letters(calculation.sums);
}

std::string to_json(const Calculation& calculation) {
  JsonWriter json;
  json.begin_object().field("schema_version", kSchemaVersion).field("report", "estimate");
  json.field("level", calculation.level);
  json.field("form", calculation.form == Form::kListed ? "listed" : "total");
  json.field("rate", calculation.is_poisson ? "poisson" : "bernoulli");
  write_fields(json, measure_of(calculation));
  write_sums(json, calculation.sums);
  json.end_object();
  return json.take();
}

}  // namespace geiger::report
