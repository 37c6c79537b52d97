#include "analysis/report/measure.h"

namespace geiger::report {
namespace {

using estimation::Form;
using estimation::NodeSums;

Measure measure(const NodeSums& sums, double level, Form form) {
  return {estimation::estimate_bytes(sums, level, form),
          estimation::estimate_objects(sums, level, form), sums.samples + sums.certain_samples,
          sums.certain_samples};
}

}  // namespace

Measure measure_total(const NodeSums& sums, double level) {
  return measure(sums, level, Form::kTotal);
}

Measure measure_row(const NodeSums& sums, double level) {
  return measure(sums, level, sums.samples > 0 ? Form::kListed : Form::kTotal);
}

Figure objects_figure(const Measure& measure) {
  const bool is_exact = measure.bytes.interval.hi < measure.bytes.value + 1;  // No byte unseen.
  if (is_exact || measure.objects.samples > 0) return figure(measure.objects, Quantity::kObjects);
  if (measure.certain_samples == 0) return {"-", ""};
  return {"≥ " + exact_count(measure.certain_samples), ""};
}

double bytes_for_order(const NodeSums& sums) { return sums.weighted_bytes + sums.certain_bytes; }

void write_fields(JsonWriter& json, const Measure& measure) {
  json.field("bytes", measure.bytes).field("objects", measure.objects);
  json.field("samples", measure.samples).field("certain_samples", measure.certain_samples);
}

}  // namespace geiger::report
