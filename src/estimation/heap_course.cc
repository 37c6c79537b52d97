#include "estimation/heap_course.h"

#include <cmath>
#include <tuple>
#include <utility>

#include "estimation/distributions/normal.h"

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

/// Orders heaps by their upper limits: these for a gamma law whose cube root is normal (Wilson and
/// Hilferty), z its quantile. Off by at most .6 % of the unseen bytes, and alike for heaps alike.
double approximate_limit(const NodeSums& sums, double z) {
  const double event = sums.largest_interval;
  const double mean = std::max(sums.weighted_bytes, 0.0) + event;
  if (!(mean > 0)) return sums.certain_bytes;
  const double ninth = (std::max(sums.bytes_variance, 0.0) + event * event) / (9 * mean * mean);
  const double root = 1 - ninth + z * std::sqrt(ninth);
  return sums.certain_bytes + mean * root * root * root;
}

}  // namespace

HeapBytes heap_bytes(const NodeSums& sums) {
  return {sums.all_bytes(), sums.bytes_seen + sums.certain_bytes, sums.bytes_variance};
}

// In an order that does not depend on how they were met.
HeapCourse::HeapCourse(std::vector<HeapStep> steps) : steps_(std::move(steps)) {
  std::ranges::sort(steps_, [](const HeapStep& a, const HeapStep& b) {
    return std::tie(a.time, a.change.weighted) < std::tie(b.time, b.change.weighted);
  });
}

/// Calls `visit` with each instant of the window from which on another heap is live, and with it.
template <typename Visit>
void HeapCourse::for_each_heap(Nanoseconds from, Nanoseconds to, const Visit& visit) const {
  HeapBytes heap;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    heap.add(steps_[i].change);
    // The heap at an instant is what all steps up to it leave behind; before the window
    // only the last of them counts, from the window's start on.
    const Nanoseconds next = i + 1 == steps_.size() ? ~Nanoseconds{0} : steps_[i + 1].time;
    const Nanoseconds instant = std::max(steps_[i].time, from);
    if (next > instant && instant < to) visit(instant, heap);
  }
}

HeapStep HeapCourse::largest(Nanoseconds from, Nanoseconds to) const {
  HeapStep largest;
  for_each_heap(from, to, [&](Nanoseconds instant, const HeapBytes& heap) {
    if (heap.weighted > largest.change.weighted) largest = {instant, heap};
  });
  return largest;
}

Estimate HeapCourse::estimate_largest(Estimate one, Nanoseconds from, Nanoseconds to,
                                      double largest_interval, double level) const {
  const double z = upper_normal_quantile(alpha_of(level) / 2);
  NodeSums highest = sums_of({}, largest_interval);
  for_each_heap(from, to, [&](Nanoseconds, const HeapBytes& heap) {
    const NodeSums sums = sums_of(heap, largest_interval);
    if (approximate_limit(sums, z) > approximate_limit(highest, z)) highest = sums;
  });
  one.interval.hi = std::max(one.value, estimate_bytes(highest, level).interval.hi);
  return one;
}

}  // namespace geiger::estimation
