#include "api/heaps/heap_counter.h"

#include "api/connection.h"
#include "runtime/capture/thread/countdown.h"
#include "sampling/prng.h"

namespace geiger::api {
namespace {

using capture::add;
using capture::Rate;
using sampling::Verdict;

/// Bytes until a thread checks again whether recording has started.
constexpr std::uint64_t kAskAgain = 1 << 20;
/// Different from the threads' own streams.
constexpr std::uint64_t kHeapStream = 0x68656170;

/// Counts trials, of which all, or all but the last, failed.
void count_trials(HeapCounter& counter, std::uint64_t count) {
  const double p = 1 / static_cast<double>(counter.sampler.interval());
  const auto trials = static_cast<double>(count);
  add(counter.trials, count);
  add(counter.expected, trials * p);
  add(counter.variance, trials * p * (1 - p));
}

void start(HeapCounter& counter, const Rate& rate, std::uint64_t stream) {
  const std::uint64_t seed = connection()->status().header->seed ^ kHeapStream;
  counter.sampler.start(sampling::thread_seed(seed, stream), rate.interval, rate.lambda,
                        rate.is_pure);
  counter.rate = rate;
}

/// Settles the bytes since the counter was armed. `rest`: its value before the current allocation.
void settle(HeapCounter& counter, std::uint64_t rest) {
  const std::uint64_t armed = counter.armed.load(std::memory_order_relaxed);
  add(counter.bytes, armed - rest);
  if (counter.rate.image == 0) return;
  const std::uint64_t unseen =
      capture::settle(counter.sampler, armed, rest,
                      [&counter](std::uint64_t failed) { count_trials(counter, failed); });
  // A handler reported before this settled; some of its bytes were not tried.
  if (unseen != 0) add(counter.interrupted, std::uint64_t{1});
}

/// A heap's counter, as totals of decided allocations.
struct HeapTotals {
  HeapCounter& counter;

  void tried(std::uint64_t bytes) const { count_trials(counter, bytes); }
  void hit(std::uint64_t) const { add(counter.hits, std::uint64_t{1}); }
  void certain(std::uint64_t bytes) const {
    add(counter.certain_bytes, bytes);
    add(counter.certain_objects, std::uint64_t{1});
  }
};

Verdict decide(HeapCounter& counter, std::uint64_t size) {
  const Verdict verdict = counter.sampler.decide(size);
  capture::count_decided(HeapTotals{counter}, size, verdict);
  return verdict;
}

/// Draws with the rate in force from now on; independent of the last draw.
void follow(HeapCounter& counter, const Rate& rate) {
  if (rate.process == counter.rate.process && rate.interval != counter.rate.interval) {
    counter.sampler.change_interval(rate.interval, rate.lambda);
  }
  counter.rate = rate;
  counter.interval.store(rate.interval, std::memory_order_relaxed);
}

/// The counter's value during a report, so that a handler's report takes the slow path, which adds
/// its bytes back.
constexpr std::uint64_t kReporting = 0;

void arm(HeapCounter& counter) {
  const std::uint64_t armed = capture::arm_countdown(
      counter.countdown, kReporting,
      [&counter] { return counter.rate.image == 0 ? kAskAgain : counter.sampler.countdown(); },
      // A handler jumped out of its report before adding its bytes back.
      [&counter](std::uint64_t) { add(counter.interrupted, std::uint64_t{1}); });
  counter.armed.store(armed, std::memory_order_relaxed);
}

}  // namespace

Drawn draw(HeapCounter& counter, std::uint64_t stream, std::uint64_t size) {
  const std::uint64_t rest = capture::take_countdown(counter.countdown, kReporting, size);
  const Rate rate = connection()->current_rate();
  settle(counter, rest);
  add(counter.bytes, size);
  Drawn drawn{{}, rate};
  if (rate.image != 0) {
    // In another process, and at the first trial, the old skip count is meaningless.
    if (counter.rate.image == 0 || rate.process != counter.rate.process) {
      start(counter, rate, stream);
    }
    drawn = {decide(counter, size), counter.rate};
  }
  follow(counter, rate);
  arm(counter);
  return drawn;
}

void forget_countdown(HeapCounter& counter) {
  counter.armed.store(0, std::memory_order_relaxed);
  counter.countdown = 0;
}

void add(HeapSums& sums, const HeapCounter& counter) {
  sums.totals.bytes += counter.bytes.load(std::memory_order_relaxed);
  sums.totals.trials += counter.trials.load(std::memory_order_relaxed);
  sums.totals.hits += counter.hits.load(std::memory_order_relaxed);
  sums.totals.certain_bytes += counter.certain_bytes.load(std::memory_order_relaxed);
  sums.totals.certain_objects += counter.certain_objects.load(std::memory_order_relaxed);
  sums.totals.interrupted += counter.interrupted.load(std::memory_order_relaxed);
  sums.expected += counter.expected.load(std::memory_order_relaxed);
  sums.variance += counter.variance.load(std::memory_order_relaxed);
}

}  // namespace geiger::api
