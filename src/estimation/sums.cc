#include "estimation/sums.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace geiger::estimation {
namespace {

// The E of one kind of object: P(no sample among N bytes of it) = e^(-N/E), that
// is (1 - pi)^(N/z), so E = z / -ln(1 - pi). That is 1/lambda for any size unless the sample was
// thinned: then large objects are missed more often than with a rate keep * lambda.
double interval_of(double size, double lambda, double keep) {
  if (keep == 1) return 1 / lambda;
  return size / -std::log1p(keep * std::expm1(-lambda * size));
}

// Used for y/z = 0: objects without bytes list a site however few bytes it has.
constexpr double kLeastRatio = 0x1p-60;

// The smaller of two intervals, or sizes; 0 means none.
double smaller(double a, double b) { return a == 0 || b == 0 ? a + b : std::min(a, b); }

static_assert(sizeof(SampleSums) == 8 * sizeof(double), "a new field belongs into the list below");

/// Calls `visit` with each field of all `sums`: the only list of them.
template <typename Visit, typename... Sums>
void for_each_field(const Visit& visit, Sums&... sums) {
  visit(sums.samples...);
  visit(sums.certain_samples...);
  visit(sums.certain_bytes...);
  visit(sums.bytes_seen...);
  visit(sums.weighted_bytes...);
  visit(sums.bytes_variance...);
  visit(sums.objects...);
  visit(sums.objects_variance...);
}

void add_sums(SampleSums& into, const SampleSums& from) {
  for_each_field([](auto& sum, auto more) { sum += more; }, into, from);
}

void divide(std::uint64_t& count, double by) {
  count = static_cast<std::uint64_t>(std::ceil(static_cast<double>(count) / by));
}
void divide(double& sum, double by) { sum /= by; }

void divide(SampleSums& sums, double by) {
  for_each_field([by](auto& sum) { divide(sum, by); }, sums);
}

/// What a whole has beyond a part of it.
constexpr auto kLess = [](auto whole, auto part) { return whole > part ? whole - part : 0; };

/// Returns exact zeros if no sample is left, although differences of rounded sums need not be 0.
SampleSums less(const SampleSums& whole, const SampleSums& part) {
  SampleSums rest;
  for_each_field([](auto& left, auto all, auto taken) { left = kLess(all, taken); }, rest, whole,
                 part);
  if (rest.certain_samples == 0) rest.certain_bytes = 0;
  if (rest.samples > 0) return rest;
  return {.certain_samples = rest.certain_samples, .certain_bytes = rest.certain_bytes};
}

}  // namespace

double rate_of_interval(double interval) {
  GEIGER_ASSERT(interval >= 1);
  return -std::log1p(-1 / interval);
}

double inclusion_probability(Bytes size, double lambda) {
  GEIGER_ASSERT(lambda > 0);
  return -std::expm1(-lambda * static_cast<double>(tried_bytes(size)));
}

void NodeSums::add(Bytes size, double lambda, std::uint64_t count, double keep, Bytes value) {
  keep = std::min(keep, 1.0);
  if (value == 0 || count == 0 || !(lambda > 0) || !(keep > 0)) return;
  if (value == kWholeSize) value = size;
  if (keep == 1 && std::isinf(lambda)) return add_certain(value, count);
  const auto z = static_cast<double>(tried_bytes(size));
  const auto y = static_cast<double>(value);
  const auto n = static_cast<double>(count);
  const double pi = keep * inclusion_probability(size, lambda);
  // 1 - pi without cancellation: for large z only e^(-lambda z) is precise.
  const double missed = (1 - keep) + keep * std::exp(-lambda * z);
  samples += count;
  bytes_seen += n * y;
  weighted_bytes += n * (y / pi);
  bytes_variance += n * (y / pi) * (y * missed / pi);
  objects += n / pi;
  objects_variance += n * missed / pi / pi;
  const double interval = interval_of(z, lambda, keep);
  const double ratio = y / z;
  largest_interval = std::max(largest_interval, interval * std::max(ratio, 1.0));
  smallest_interval = smaller(smallest_interval, interval * std::max(ratio, kLeastRatio));
  largest_object_weight = std::max(largest_object_weight, 1 / pi);
  largest_weight = std::max(largest_weight, y / pi);
  object_interval = std::max(object_interval, 1 / (keep * lambda));
  smallest_size = smaller(smallest_size, z);
  largest_size = std::max(largest_size, z);
}

void NodeSums::add_certain(Bytes size, std::uint64_t count) {
  certain_samples += count;
  certain_bytes += static_cast<double>(size) * static_cast<double>(count);
}

void NodeSums::could_have_sampled(double interval, double ratio) {
  if (!(interval > 1)) return;
  largest_interval = std::max(largest_interval, interval);
  object_interval = std::max(object_interval, interval / ratio);
}

void NodeSums::could_have_sampled(const NodeSums& whole) {
  largest_interval = std::max(largest_interval, whole.largest_interval);
  object_interval = std::max(object_interval, whole.object_interval);
}

void NodeSums::merge(const NodeSums& other) {
  add_sums(*this, other);
  add_sums(open, other.open);
  largest_interval = std::max(largest_interval, other.largest_interval);
  smallest_interval = smaller(smallest_interval, other.smallest_interval);
  largest_object_weight = std::max(largest_object_weight, other.largest_object_weight);
  largest_weight = std::max(largest_weight, other.largest_weight);
  object_interval = std::max(object_interval, other.object_interval);
  smallest_size = smaller(smallest_size, other.smallest_size);
  largest_size = std::max(largest_size, other.largest_size);
}

void NodeSums::average_over(double instants) {
  GEIGER_ASSERT(instants > 0);
  if (instants == 1) return;
  divide(*this, instants);
  divide(open, instants);
}

void NodeSums::leave_open(const NodeSums& whole) {
  NodeSums added = whole;
  added.open = whole;
  static_cast<SampleSums&>(added) = {};
  merge(added);
}

NodeSums NodeSums::at_most() const {
  NodeSums most = *this;
  most.open = {};
  add_sums(most, open);
  return most;
}

NodeSums rest_of(const NodeSums& part, const NodeSums& whole) {
  NodeSums rest;
  static_cast<SampleSums&>(rest) = less(whole, part);
  rest.open = less(whole.open, part.open);
  rest.could_have_sampled(whole);
  if (rest.samples + rest.open.samples > 0) {
    rest.smallest_interval = whole.smallest_interval;
    rest.largest_object_weight = whole.largest_object_weight;
    rest.smallest_size = whole.smallest_size;
    rest.largest_size = whole.largest_size;
  }
  return rest;
}

}  // namespace geiger::estimation
