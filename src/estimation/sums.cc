#include "estimation/sums.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace geiger::estimation {
namespace {

// The E of one kind of object: P(no sample among N bytes of it) = e^(-N/E), that
// is (1 - pi)^(N/z), so E = z / -ln(1 - pi). That is 1/lambda whatever the size
// unless the sample was thinned, where large objects are missed more often than
// a rate keep * lambda would say.
double interval_of(double size, double lambda, double keep) {
  if (keep == 1) return 1 / lambda;
  return size / -std::log1p(keep * std::expm1(-lambda * size));
}

// Stands for y/z = 0: objects without bytes list a site however few bytes it has.
constexpr double kLeastRatio = 0x1p-60;

// The smaller of two intervals, where 0 stands for none.
double smaller(double a, double b) { return a == 0 || b == 0 ? a + b : std::min(a, b); }

/// Adds what both kinds of sums have.
template <typename Into, typename From>
void add_common(Into& into, const From& from) {
  into.samples += from.samples;
  into.certain_samples += from.certain_samples;
  into.certain_bytes += from.certain_bytes;
  into.bytes_seen += from.bytes_seen;
  into.weighted_bytes += from.weighted_bytes;
  into.bytes_variance += from.bytes_variance;
  into.objects += from.objects;
  into.objects_variance += from.objects_variance;
}

/// What of several numbers there is beyond a part.
constexpr auto less = [](auto from, auto what) { return from > what ? from - what : 0; };

/// The same of what a whole has beyond a part; `rest` is empty before.
template <typename Sums>
void set_common_rest(Sums& rest, const Sums& part, const Sums& whole) {
  rest.certain_samples = less(whole.certain_samples, part.certain_samples);
  if (rest.certain_samples > 0) rest.certain_bytes = less(whole.certain_bytes, part.certain_bytes);
  rest.samples = less(whole.samples, part.samples);
  if (rest.samples == 0) return;
  rest.bytes_seen = less(whole.bytes_seen, part.bytes_seen);
  rest.weighted_bytes = less(whole.weighted_bytes, part.weighted_bytes);
  rest.bytes_variance = less(whole.bytes_variance, part.bytes_variance);
  rest.objects = less(whole.objects, part.objects);
  rest.objects_variance = less(whole.objects_variance, part.objects_variance);
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
  // 1 - pi without cancellation: e^(-lambda z) alone carries it for large z.
  const double missed = (1 - keep) + keep * std::exp(-lambda * z);
  samples += count;
  bytes_seen += n * y;
  weighted_bytes += n * (y / pi);
  bytes_variance += n * (y / pi) * (y * missed / pi);
  objects += n / pi;
  objects_variance += n * missed / pi / pi;
  covariance += n * y * missed / pi / pi;
  const double interval = interval_of(z, lambda, keep);
  const double ratio = y / z;
  largest_interval = std::max(largest_interval, interval * std::max(ratio, 1.0));
  smallest_interval = smaller(smallest_interval, interval * std::max(ratio, kLeastRatio));
  largest_object_weight = std::max(largest_object_weight, 1 / pi);
  largest_weight = std::max(largest_weight, y / pi);
}

void NodeSums::add_certain(Bytes size, std::uint64_t count) {
  certain_samples += count;
  certain_bytes += static_cast<double>(size) * static_cast<double>(count);
}

void NodeSums::could_have_sampled(double interval) {
  if (interval > 1) largest_interval = std::max(largest_interval, interval);
}

void NodeSums::merge(const NodeSums& other) {
  samples += other.samples;
  certain_samples += other.certain_samples;
  certain_bytes += other.certain_bytes;
  bytes_seen += other.bytes_seen;
  weighted_bytes += other.weighted_bytes;
  bytes_variance += other.bytes_variance;
  objects += other.objects;
  objects_variance += other.objects_variance;
  covariance += other.covariance;
  largest_interval = std::max(largest_interval, other.largest_interval);
  smallest_interval = smaller(smallest_interval, other.smallest_interval);
  largest_object_weight = std::max(largest_object_weight, other.largest_object_weight);
  largest_weight = std::max(largest_weight, other.largest_weight);
  add_common(open, other.open);
}

void NodeSums::leave_open(const NodeSums& whole) {
  NodeSums added;
  added.largest_interval = whole.largest_interval;
  added.smallest_interval = whole.smallest_interval;
  added.largest_object_weight = whole.largest_object_weight;
  added.largest_weight = whole.largest_weight;
  added.open = {.samples = whole.samples,
                .certain_samples = whole.certain_samples,
                .certain_bytes = whole.certain_bytes,
                .bytes_seen = whole.bytes_seen,
                .weighted_bytes = whole.weighted_bytes,
                .bytes_variance = whole.bytes_variance,
                .objects = whole.objects,
                .objects_variance = whole.objects_variance};
  merge(added);
}

NodeSums NodeSums::at_most() const {
  NodeSums most = *this;
  most.open = {};
  add_common(most, open);
  return most;
}

NodeSums rest_of(const NodeSums& part, const NodeSums& whole) {
  NodeSums rest;
  rest.largest_interval = whole.largest_interval;
  set_common_rest(rest.open, part.open, whole.open);
  set_common_rest(rest, part, whole);
  if (rest.samples + rest.open.samples > 0) {
    rest.smallest_interval = whole.smallest_interval;
    rest.largest_object_weight = whole.largest_object_weight;
  }
  if (rest.samples > 0) rest.covariance = less(whole.covariance, part.covariance);
  return rest;
}

}  // namespace geiger::estimation
