// One thread's trials of one custom heap.
//
//   countdown -= size; below 0, or no bytes? ->  settle, try, count, arm again     (slow path)
//
// with the sampler and the rules of the process's own heap (runtime/capture).
//
// Threads: the owner draws, others read the sums. Signals: a handler may subtract from the
// countdown at any time; see draw(). Allocates: never.
#pragma once

#include <atomic>
#include <cstdint>

#include "geiger/geiger.h"
#include "runtime/capture/program/custom_heap.h"
#include "sampling/counter_sampler.h"

namespace geiger::api {

/// One thread's trials of one heap. The owner writes, totals read.
struct HeapCounter {
  std::uint64_t countdown;
  std::atomic<std::uint64_t> armed;  ///< What the countdown was last set to.
  sampling::CounterSampler sampler;
  capture::Rate rate;                   ///< Rate of the sampler; image 0: not recording, no trials.
  std::atomic<std::uint64_t> interval;  ///< Of the rate, for others to read.
  std::atomic<std::uint64_t> bytes, trials, hits, certain_bytes, certain_objects, interrupted;
  std::atomic<double> expected, variance;  ///< Of the hits.
};

/// The decision about an allocation, and the rate it was drawn with.
struct Drawn {
  sampling::Verdict verdict;
  capture::Rate rate;
};

/// Tries an allocation of `size` bytes that was subtracted from the countdown, at the rate in
/// force, and arms the countdown again. Reports of a handler of the same thread meanwhile are
/// counted as interrupted. `stream`: of random numbers, for the first trial in a process.
Drawn draw(HeapCounter& counter, std::uint64_t stream, std::uint64_t size);

/// In a fork's child: makes the next allocation take the slow path, in the new image.
void forget_countdown(HeapCounter& counter);

/// Sums of counters: `totals` without z, and the moments of the hits that z needs.
struct HeapSums {
  geiger_heap_totals totals{};
  double expected = 0, variance = 0;
};

/// Adds the owner's settled totals; trials not settled yet have failed.
void add(HeapSums& sums, const HeapCounter& counter);

}  // namespace geiger::api
