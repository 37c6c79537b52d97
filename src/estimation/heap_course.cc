#include "estimation/heap_course.h"

#include <cmath>
#include <limits>
#include <utility>

#include "estimation/distributions/gamma.h"

namespace geiger::estimation {
namespace {

NodeSums sums_of(const HeapBytes& heap, double largest_interval) {
  NodeSums sums;
  sums.certain_bytes = heap.seen;
  sums.weighted_bytes = heap.weighted - heap.seen;
  sums.bytes_variance = heap.variance;
  sums.could_have_sampled(largest_interval);
  return sums;
}

double upper_limit(const HeapBytes& heap, double largest_interval, double level) {
  return estimate_bytes(sums_of(heap, largest_interval), level).interval.hi;
}

double lower_limit(const HeapBytes& heap, double level) {
  NodeSums sums;
  sums.bytes_seen = heap.seen;
  sums.weighted_bytes = heap.weighted;
  sums.bytes_variance = heap.variance;
  return estimate_bytes(sums, level).interval.lo;
}

/// A quantile of a gamma law whose cube root is normal (Wilson and Hilferty), z that of the normal.
double approximate_quantile(double mean, double variance, double z) {
  if (!(mean > 0)) return 0;
  const double ninth = std::max(variance, 0.0) / (9 * mean * mean);
  return mean * std::pow(std::max(1 - ninth + z * std::sqrt(ninth), 0.0), 3);
}

/// Limits by which heaps are ordered. Off by at most .6 % of the unseen bytes, and alike for heaps
/// alike.
double approximate_upper(const HeapBytes& heap, double largest_interval, double z) {
  return heap.seen + approximate_quantile(
                         std::max(heap.weighted - heap.seen, 0.0) + largest_interval,
                         std::max(heap.variance, 0.0) + largest_interval * largest_interval, z);
}

double approximate_lower(const HeapBytes& heap, double z) {
  return std::max(heap.seen, approximate_quantile(heap.weighted, heap.variance, -z));
}

/// How far they may be off, as a share, with some to spare.
constexpr double kApproximation = 0.01;

double weighted_in(const HeapBytes& heap) { return heap.weighted; }
double weighted_in(const PartedHeap& heap) {
  return heap.part.weighted + heap.open.weighted + heap.rest.weighted;
}

/// In an order that does not depend on the input's.
template <typename Step>
void sort_by_time(std::vector<Step>& steps) {
  std::ranges::sort(steps, [](const Step& a, const Step& b) {
    return std::pair(a.time, weighted_in(a.change)) < std::pair(b.time, weighted_in(b.change));
  });
}

/// Calls `visit` with each instant of the window from which on another heap is live, and with it.
template <typename Step, typename Visit>
void for_each_heap(const std::vector<Step>& steps, Nanoseconds from, Nanoseconds to,
                   const Visit& visit) {
  decltype(Step::change) heap;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    heap.add(steps[i].change);
    // The heap at an instant is what all steps up to it leave behind; before the window
    // only the last of them counts, from the window's start on.
    const Nanoseconds next = i + 1 == steps.size() ? ~Nanoseconds{0} : steps[i + 1].time;
    const Nanoseconds instant = std::max(steps[i].time, from);
    if (next > instant && instant < to) visit(instant, heap);
  }
}

}  // namespace

HeapBytes heap_bytes(const NodeSums& sums) {
  return {sums.all_bytes(), sums.bytes_seen + sums.certain_bytes, sums.bytes_variance};
}

HeapCourse::HeapCourse(std::vector<HeapStep> steps) : steps_(std::move(steps)) {
  sort_by_time(steps_);
}

HeapStep HeapCourse::largest(Nanoseconds from, Nanoseconds to) const {
  HeapStep largest;
  for_each_heap(steps_, from, to, [&](Nanoseconds instant, const HeapBytes& heap) {
    if (heap.weighted > largest.change.weighted) largest = {instant, heap};
  });
  return largest;
}

Estimate HeapCourse::estimate_largest(Estimate one, Nanoseconds from, Nanoseconds to,
                                      double largest_interval, double level) const {
  const double z = upper_normal_quantile(alpha_of(level) / 2);
  HeapBytes highest;
  double most = approximate_upper(highest, largest_interval, z);
  for_each_heap(steps_, from, to, [&](Nanoseconds, const HeapBytes& heap) {
    const double limit = approximate_upper(heap, largest_interval, z);
    if (limit > most) highest = heap;
    most = std::max(most, limit);
  });
  one.interval.hi = std::max(one.value, upper_limit(highest, largest_interval, level));
  return one;
}

// All instants count at which the upper limit of the heap reaches the lower one of `one`: the
// largest heap is among them but for alpha/4. There the part has at least what its own lower limit
// says, and at least what `one` has beyond the upper limit of the rest: alpha/8 each.
Interval limits_at_largest(std::vector<PartedStep> steps, const HeapBytes& one, Nanoseconds from,
                           Nanoseconds to, double largest_interval, double level) {
  sort_by_time(steps);
  const double alpha = alpha_of(level);
  const double least = lower_limit(one, 1 - alpha / 4);
  const double z_heap = upper_normal_quantile(alpha / 8);
  const double z_upper = upper_normal_quantile(alpha / 4);
  PartedHeap lowest;
  HeapBytes highest;
  double most = -1;
  double fewest = std::numeric_limits<double>::infinity();
  for_each_heap(steps, from, to, [&](Nanoseconds, const PartedHeap& heap) {
    const HeapBytes beside = heap.rest + heap.open;
    const double of_heap = approximate_upper(heap.part + beside, largest_interval, z_heap);
    if (of_heap * (1 + kApproximation) < least) return;
    const double low = std::max(approximate_lower(heap.part, z_heap),
                                least - approximate_upper(beside, largest_interval, z_heap));
    const double high = approximate_upper(heap.part + heap.open, largest_interval, z_upper);
    if (low < fewest) lowest = heap;
    if (high > most) highest = heap.part + heap.open;
    fewest = std::min(fewest, low);
    most = std::max(most, high);
  });
  return {std::max(lower_limit(lowest.part, 1 - alpha / 4),
                   least - upper_limit(lowest.rest + lowest.open, largest_interval, 1 - alpha / 4)),
          upper_limit(highest, largest_interval, 1 - alpha / 2)};
}

}  // namespace geiger::estimation
