// The arithmetic of report pages: estimates and their texts as functions of WebAssembly, so that
// pages compute with the code of the terminal. web/src/numbers/arithmetic.ts is the other side.
//
// A function takes its arguments from `numbers` in the order in which it reads them, and leaves its
// results there: the columns of a row (for_each_column), the fields of an estimate, or the length
// of `text`, in which the two parts of a figure are lines. No function fails. For one thread.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "analysis/present/format.h"
#include "analysis/present/whole_sums.h"
#include "base/check.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

#if defined(__wasm__)
#define GEIGER_EXPORT(type, name) extern "C" [[clang::export_name(#name)]] type name()
#else
#define GEIGER_EXPORT(type, name) extern "C" [[gnu::used]] type name()
#endif

namespace geiger::arithmetic {
namespace {

std::array<double, 64> numbers;
std::array<char, 512> text;  ///< UTF-8.

using estimation::Estimate;
using estimation::Form;
using estimation::Interval;
using estimation::NodeSums;
using present::Figure;
using present::Measure;
using present::Quantity;
using present::Share;
using present::WholeSums;

void for_each_added(auto& sums, auto visit) {
  visit("Samples", sums.samples);
  visit("Certain", sums.certain_samples);
  visit("CertainBytes", sums.certain_bytes);
  visit("Seen", sums.bytes_seen);
  visit("Weighted", sums.weighted_bytes);
  visit("Variance", sums.bytes_variance);
  visit("Objects", sums.objects);
  visit("ObjectsVariance", sums.objects_variance);
}

/// Calls `visit` with each column of a row of sums, its name and its field: the only list of them.
/// First what is added, then extremes, then what is added of open samples.
void for_each_column(auto& sums, auto visit) {
  for_each_added(sums, visit);
  visit("LargestInterval", sums.largest_interval);
  visit("SmallestInterval", sums.smallest_interval);
  visit("LargestObjectWeight", sums.largest_object_weight);
  visit("ObjectInterval", sums.object_interval);
  visit("SmallestSize", sums.smallest_size);
  visit("LargestSize", sums.largest_size);
  for_each_added(sums.open, [&](std::string_view name, auto& field) {
    visit("Open" + std::string(name), field);
  });
}

/// The arguments, one after the other.
class Arguments {
 public:
  double number() { return numbers[at_++]; }
  bool truth() { return number() != 0; }
  std::uint64_t whole_number() { return present::whole_number(number()); }
  Quantity quantity() { return truth() ? Quantity::kObjects : Quantity::kBytes; }
  Form form() { return truth() ? Form::kListed : Form::kTotal; }
  Interval interval() {
    const double lo = number();
    return {lo, number()};
  }
  NodeSums row() {
    NodeSums sums;
    for_each_column(sums, [this](const auto&, auto& field) {
      field = static_cast<std::remove_reference_t<decltype(field)>>(number());
    });
    return sums;
  }
  Estimate estimate() {
    Estimate estimate;
    estimate.value = number();
    estimate.interval = interval();
    estimate.variance = number();
    estimate.samples = whole_number();
    estimate.exact = number();
    estimate.open = number();
    return estimate;
  }
  /// Negative where they are not known.
  std::optional<Bytes> known_bytes() {
    const double bytes = number();
    return bytes < 0 ? std::nullopt : std::optional(present::whole_number(bytes));
  }
  /// Of a row of the whole, its exact total, whether parts are calibrated to that, and the most
  /// that a part may have.
  WholeSums whole() {
    const NodeSums sums = row();
    const std::optional<Bytes> exact = known_bytes();
    const bool calibrates = truth();
    const std::optional<Bytes> most = known_bytes();
    if (!exact) return {sums, std::nullopt, calibrates, most};
    return {sums, estimation::KnownTotal{*exact}, calibrates, most};
  }

 private:
  std::size_t at_ = 0;
};

void give(std::initializer_list<double> results) {
  std::copy(results.begin(), results.end(), numbers.begin());
}

void give(const Estimate& estimate) {
  give({estimate.value, estimate.interval.lo, estimate.interval.hi, estimate.variance,
        static_cast<double>(estimate.samples), estimate.exact, estimate.open});
}

void give(const Share& share) { give({share.value, share.interval.lo, share.interval.hi}); }

void give(const NodeSums& sums) {
  double* at = numbers.data();
  for_each_column(sums, [&at](const auto&, auto field) { *at++ = static_cast<double>(field); });
}

void give(std::string_view written) {
  if (!GEIGER_CHECK(written.size() <= text.size())) return;
  std::copy(written.begin(), written.end(), text.begin());
  give({static_cast<double>(written.size())});
}

void give(const Figure& figure) { give(figure.value + '\n' + figure.error); }

}  // namespace

GEIGER_EXPORT(double*, numbers_area) { return numbers.data(); }
GEIGER_EXPORT(char*, text_area) { return text.data(); }

/// Names of the columns, as text.
GEIGER_EXPORT(void, columns) {
  std::string names;
  NodeSums sums;
  for_each_column(sums, [&names](const auto& name, auto&) { names.append(name).append(" "); });
  give(names);
}

/// Row, level, whether it is listed because it was sampled.
GEIGER_EXPORT(void, estimate_bytes) {
  Arguments in;
  const NodeSums row = in.row();
  const double level = in.number();
  give(estimation::estimate_bytes(row, level, in.form()));
}

/// As estimate_bytes; one more result is whether the sizes are known.
GEIGER_EXPORT(void, estimate_objects) {
  Arguments in;
  const NodeSums row = in.row();
  const double level = in.number();
  give(estimation::estimate_objects(row, level, in.form()));
  numbers[7] = estimation::is_size_known(row) ? 1 : 0;
}

/// Row, whole, level, form: the bytes to show.
GEIGER_EXPORT(void, part_bytes) {
  Arguments in;
  const NodeSums part = in.row();
  const WholeSums whole = in.whole();
  const double level = in.number();
  const Estimate sampled = estimation::estimate_bytes(part, level, in.form());
  give(whole.calibrated(part, sampled, level).value_or(sampled));
}

/// Row, whole, level, its bytes to show.
GEIGER_EXPORT(void, share_of) {
  Arguments in;
  const NodeSums part = in.row();
  const WholeSums whole = in.whole();
  const double level = in.number();
  Measure measure;
  measure.bytes = in.estimate();
  give(present::share_of(measure, part, whole, level));
}

/// Part, whole: a row.
GEIGER_EXPORT(void, rest_of) {
  Arguments in;
  const NodeSums part = in.row();
  give(estimation::rest_of(part, in.row()));
}

/// Largest interval, level.
GEIGER_EXPORT(void, detection_limit) {
  Arguments in;
  const double interval = in.number();
  give({estimation::detection_limit(interval, in.number())});
}

GEIGER_EXPORT(void, is_exact) { give({present::is_exact(Arguments().estimate()) ? 1.0 : 0.0}); }

namespace {

Measure measure_in(Arguments in) {
  Measure measure;
  measure.bytes = in.estimate();
  measure.objects = in.estimate();
  measure.has_unknown_sizes = in.truth();
  return measure;
}

}  // namespace

/// Estimates of bytes and objects, whether the sizes are not known.
GEIGER_EXPORT(void, has_objects_interval) {
  give({present::has_objects_interval(measure_in({})) ? 1.0 : 0.0});
}
GEIGER_EXPORT(void, objects_figure) { give(present::objects_figure(measure_in({}))); }

/// Estimate, whether it is of objects.
GEIGER_EXPORT(void, figure) {
  Arguments in;
  const Estimate estimate = in.estimate();
  give(present::figure(estimate, in.quantity()));
}

/// Limits, whether they are of objects.
GEIGER_EXPORT(void, limits_text) {
  Arguments in;
  const Interval limits = in.interval();
  give(present::limits_text(limits, in.quantity()));
}

/// Value, limits.
GEIGER_EXPORT(void, change_figure) {
  Arguments in;
  const double value = in.number();
  give(present::change_figure(value, in.interval()));
}
GEIGER_EXPORT(void, share_figure) {
  Arguments in;
  const double value = in.number();
  give(present::figure(Share{value, in.interval()}));
}

GEIGER_EXPORT(void, exact_bytes) { give(present::exact_bytes(Arguments().whole_number())); }
GEIGER_EXPORT(void, exact_count) { give(present::exact_count(Arguments().whole_number())); }
GEIGER_EXPORT(void, bound_bytes) { give(present::bound_bytes(Arguments().number())); }
GEIGER_EXPORT(void, duration) { give(present::duration(Arguments().whole_number())); }
GEIGER_EXPORT(void, level_text) { give(present::level_text(Arguments().number())); }
GEIGER_EXPORT(void, probability) { give(present::probability(Arguments().number())); }

}  // namespace geiger::arithmetic
