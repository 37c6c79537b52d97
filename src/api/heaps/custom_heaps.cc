// One thread's trials of one custom heap.
//
//   countdown -= size; below 0, or no bytes? ->  settle, try, count, arm again     (slow path)
//
// with the sampler and the rules of the process's own heap (runtime/capture).
//
// Threads: the owner draws, others read the sums. Signals: a handler may subtract from the
// countdown at any time; see draw(). Allocates: never.
#include "api/heaps/custom_heaps.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "api/connection.h"
#include "api/session.h"
#include "base/check.h"
#include "geiger/geiger.h"
#include "runtime/capture/interface.h"
#include "runtime/capture/thread/countdown.h"
#include "sampling/samplers.h"

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
struct JudgedAllocation {
  sampling::Verdict verdict;
  capture::Rate rate;
};

/// Tries an allocation of `size` bytes that was subtracted from the countdown, at the rate in
/// force, and arms the countdown again. Reports of a handler of the same thread meanwhile are
/// counted as interrupted. `stream`: of random numbers, for the first trial in a process.
JudgedAllocation draw(HeapCounter& counter, std::uint64_t stream, std::uint64_t size);

/// In a fork's child: makes the next allocation take the slow path, in the new image.
void forget_countdown(HeapCounter& counter);

/// Sums of counters: `totals` without z, and the moments of the hits that z needs.
struct HeapSums {
  geiger_heap_totals totals{};
  double expected = 0, variance = 0;
};

/// Adds the owner's settled totals; trials not settled yet have failed.
void add(HeapSums& sums, const HeapCounter& counter);

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

JudgedAllocation draw(HeapCounter& counter, std::uint64_t stream, std::uint64_t size) {
  const std::uint64_t rest = capture::take_countdown(counter.countdown, kReporting, size);
  const Rate rate = connection()->current_rate();
  settle(counter, rest);
  add(counter.bytes, size);
  JudgedAllocation drawn{{}, rate};
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

using capture::add;
using capture::NameId;
using capture::Rate;
using sampling::Verdict;
using unwind::caller_registers;
using unwind::Registers;

/// The counters of one thread, by heap. Never removed from the list.
struct ThreadHeaps {
  std::atomic<HeapCounter*> of[GEIGER_MAX_HEAPS + 1];
  std::atomic<bool> is_used;
  std::uint32_t number;
  ThreadHeaps* next;
};

namespace {

constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 48;
constexpr std::uint64_t kSizeEnd = (std::uint64_t{1} << 47) + 1;
constinit std::atomic<ThreadHeaps*> all{nullptr};
constinit std::atomic<std::uint32_t> threads{0};
constinit std::atomic<NameId> names[GEIGER_MAX_HEAPS + 1]{};
constinit std::atomic<std::uint32_t> defined{0};

bool is_heap(geiger_heap heap) {
  return heap != 0 && heap <= defined.load(std::memory_order_acquire);
}

ThreadHeaps* adopt() {
  for (ThreadHeaps* heaps = all.load(std::memory_order_acquire); heaps != nullptr;
       heaps = heaps->next) {
    if (!heaps->is_used.exchange(true, std::memory_order_acquire)) return heaps;
  }
  auto* fresh = static_cast<ThreadHeaps*>(connection()->allocate(sizeof(ThreadHeaps)));
  if (fresh == nullptr) return nullptr;
  fresh->is_used.store(true, std::memory_order_relaxed);
  fresh->number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  ThreadHeaps* newest = all.load(std::memory_order_relaxed);
  do {
    fresh->next = newest;
  } while (!all.compare_exchange_weak(newest, fresh, std::memory_order_acq_rel));
  return fresh;
}

void give_back(ThreadHeaps& heaps) { heaps.is_used.store(false, std::memory_order_release); }

/// Gives the thread's counters back when it ends.
struct Owner {
  bool owns = false;
  ~Owner() {
    if (tls.heaps != nullptr) give_back(*tls.heaps);
    tls.heaps = nullptr;
    tls.has_ended = true;
  }
};
thread_local Owner owner;

HeapCounter* counter_of(ThreadHeaps& heaps, geiger_heap heap) {
  HeapCounter* counter = heaps.of[heap].load(std::memory_order_relaxed);
  if (counter != nullptr) return counter;
  counter = static_cast<HeapCounter*>(connection()->allocate(sizeof(HeapCounter)));
  heaps.of[heap].store(counter, std::memory_order_release);
  return counter;
}

struct Reported {
  geiger_heap heap;
  const geiger_allocation& allocation;
  NameId type;
};

void report(const Reported& reported, const Verdict& verdict, const Rate& rate,
            const Registers& caller) {
  if (verdict.kind == Verdict::Kind::kNotSampled) return;
  const geiger_allocation& allocation = reported.allocation;
  // The result does not concern the reporter.
  (void)connection()->report_sample(
      {.heap = names[reported.heap].load(std::memory_order_relaxed),
       .type = reported.type,
       .address = reinterpret_cast<std::uint64_t>(allocation.address),
       .requested = allocation.requested,
       .usable = allocation.usable != 0 ? allocation.usable : allocation.requested,
       .alignment = allocation.alignment,
       .offset = verdict.offset,
       .rate = rate,
       .is_certain = verdict.kind == Verdict::Kind::kCertain,
       .caller = caller});
}

/// The thread's counters. A thread in its last destructors borrows counters for one call.
ThreadHeaps* own_heaps() {
  if (tls.heaps == nullptr) {
    tls.heaps = adopt();
    if (!tls.has_ended) owner.owns = true;  // The first use registers its destructor.
  }
  return tls.heaps;
}

void return_lent() {
  if (!tls.has_ended || tls.heaps == nullptr) return;
  give_back(*tls.heaps);
  tls.heaps = nullptr;
}

/// A report that interrupted another one of the same thread: adds its bytes back, untried.
geiger_status interrupt(geiger_heap heap, std::uint64_t size, bool is_taken_off) {
  HeapCounter* counter =
      tls.heaps == nullptr ? nullptr : tls.heaps->of[heap].load(std::memory_order_relaxed);
  if (counter == nullptr) return GEIGER_BUSY;
  add(counter->interrupted, std::uint64_t{1});
  if (is_taken_off) {
    std::atomic_ref(counter->countdown).fetch_add(size, std::memory_order_relaxed);
  }
  return GEIGER_BUSY;
}

GEIGER_SLOW_PATH geiger_status report_slow(const Reported& reported, bool is_taken_off,
                                           const Registers& caller) {
  if (!is_heap(reported.heap)) {
    return connection() == nullptr ? GEIGER_NOT_AVAILABLE : GEIGER_WRONG_HEAP;
  }
  const std::uint64_t size = reported.allocation.requested;
  if (tls.is_reporting) return interrupt(reported.heap, size, is_taken_off);
  tls.is_reporting = true;
  ThreadHeaps* heaps = own_heaps();
  HeapCounter* counter = heaps == nullptr ? nullptr : counter_of(*heaps, reported.heap);
  JudgedAllocation drawn{};
  if (counter != nullptr) {
    if (!is_taken_off) counter->countdown -= size;
    drawn = draw(*counter, std::uint64_t{heaps->number} << 16 | reported.heap, size);
  }
  return_lent();
  tls.is_reporting = false;
  // This calls listeners, which may report too.
  report(reported, drawn.verdict, drawn.rate, caller);
  return counter == nullptr ? GEIGER_NO_MEMORY : GEIGER_OK;
}

/// 0 for no type, and if it cannot be defined: then the sample has no type.
NameId id_of(geiger_type* type) {
  geiger_scope scope{};
  if (type == nullptr || geiger_enter_type(type, &scope) != GEIGER_OK) return 0;
  const NameId id = scope.inside;
  (void)geiger_leave_type(&scope);
  return id;
}

bool is_possible(const geiger_allocation& allocation) {
  const auto address = reinterpret_cast<std::uint64_t>(allocation.address);
  const std::size_t alignment = allocation.alignment;
  return address != 0 && address < kAddressEnd && allocation.requested < kSizeEnd &&
         allocation.usable < kSizeEnd && (alignment & (alignment - 1)) == 0;
}

/// Tries the bytes. False: none of them was drawn, nothing else to do.
GEIGER_FAST_PATH bool has_drawn(geiger_heap heap, std::uint64_t size, bool& is_taken_off) {
  is_taken_off = false;
  if (tls.heaps == nullptr || heap > GEIGER_MAX_HEAPS) return true;
  HeapCounter* counter = tls.heaps->of[heap].load(std::memory_order_relaxed);
  if (counter == nullptr) return true;
  return is_taken_off = capture::exhausts(counter->countdown, size);
}

geiger_status define_heap(const char* name, std::size_t size, geiger_heap& heap) {
  const capture::Interface* capture = connection();
  if (capture == nullptr) return GEIGER_NOT_AVAILABLE;
  const std::uint32_t count = defined.load(std::memory_order_relaxed);
  for (std::uint32_t number = 1; number <= count; ++number) {
    const capture::NamedThing known = capture->name_at(names[number].load());
    if (known.bytes == size && std::memcmp(known.text, name, size) == 0) {
      heap = number;
      return GEIGER_OK;
    }
  }
  if (count == GEIGER_MAX_HEAPS) return GEIGER_LIMIT;
  const NameId id = capture->define_name(trace::NameKind::kHeap, count + 1, name, size);
  if (id == 0) return GEIGER_LIMIT;
  names[count + 1].store(id, std::memory_order_relaxed);
  defined.store(count + 1, std::memory_order_release);
  heap = count + 1;
  return GEIGER_OK;
}

geiger_heap_totals totals_of(geiger_heap heap) {
  HeapSums sums;
  for (const ThreadHeaps* heaps = all.load(std::memory_order_acquire); heaps != nullptr;
       heaps = heaps->next) {
    const HeapCounter* counter = heaps->of[heap].load(std::memory_order_acquire);
    if (counter != nullptr) add(sums, *counter);
  }
  if (sums.variance > 0) {
    sums.totals.z =
        (static_cast<double>(sums.totals.hits) - sums.expected) / std::sqrt(sums.variance);
  }
  return sums.totals;
}

/// Addresses of one heap among the live samples.
struct Reset {
  const capture::Interface& capture;
  geiger_heap heap;
  NameId name;
  Registers caller;
};

void free_if_of_heap(void* context, std::uint64_t key, std::uint32_t, trace::Ref) {
  const auto& reset = *static_cast<const Reset*>(context);
  if (key >> 48 != reset.heap) return;
  (void)reset.capture.report_free(reset.name, key & (kAddressEnd - 1), reset.caller);
}

}  // namespace

std::uint64_t largest_interval_of_heaps() {
  std::uint64_t largest = 0;
  for (const ThreadHeaps* heaps = all.load(std::memory_order_acquire); heaps != nullptr;
       heaps = heaps->next) {
    for (geiger_heap heap = 1; heap <= defined.load(std::memory_order_relaxed); ++heap) {
      const HeapCounter* counter = heaps->of[heap].load(std::memory_order_acquire);
      if (counter == nullptr) continue;
      largest = std::max(largest, counter->interval.load(std::memory_order_relaxed));
    }
  }
  return largest;
}

void restart_heaps_in_child() {
  for (ThreadHeaps* heaps = all.load(std::memory_order_acquire); heaps != nullptr;
       heaps = heaps->next) {
    for (std::atomic<HeapCounter*>& of : heaps->of) {
      HeapCounter* counter = of.load(std::memory_order_relaxed);
      if (counter == nullptr) continue;
      forget_countdown(*counter);
    }
    if (heaps != tls.heaps) give_back(*heaps);
  }
}

}  // namespace geiger::api

using namespace geiger::api;  // NOLINT: the C names below live outside.

geiger_status geiger_define_heap(const char* name, geiger_heap* heap) {
  if (heap == nullptr) return GEIGER_BAD_ARGUMENT;
  *heap = 0;
  const std::size_t size = name == nullptr ? 0 : strnlen(name, GEIGER_MAX_TEXT + 1);
  if (size == 0 || size > GEIGER_MAX_TEXT) return GEIGER_BAD_ARGUMENT;
  return guarded_by_gate([&] { return define_heap(name, size, *heap); });
}

// The slow path is called last, so that the stack begins with the caller.
geiger_status geiger_report_allocation(geiger_heap heap, const void* address, size_t size) {
  const geiger_allocation allocation{address, size, 0, 0, nullptr};
  if (!is_possible(allocation)) return GEIGER_BAD_ARGUMENT;
  bool is_taken_off = false;
  if (!has_drawn(heap, size, is_taken_off)) [[likely]]
    return GEIGER_OK;
  return report_slow({heap, allocation, 0}, is_taken_off, caller_registers());
}

geiger_status geiger_report_allocation_of(geiger_heap heap, const geiger_allocation* allocation) {
  if (allocation == nullptr || !is_possible(*allocation)) return GEIGER_BAD_ARGUMENT;
  bool is_taken_off = false;
  if (!has_drawn(heap, allocation->requested, is_taken_off)) [[likely]]
    return GEIGER_OK;
  return report_slow({heap, *allocation, id_of(allocation->type)}, is_taken_off,
                     caller_registers());
}

geiger_status geiger_report_drawn(geiger_heap heap, const geiger_drawn* drawn) {
  if (drawn == nullptr || !is_possible(drawn->allocation)) return GEIGER_BAD_ARGUMENT;
  if (drawn->interval == 0 || drawn->interval > GEIGER_MAX_INTERVAL) return GEIGER_BAD_INTERVAL;
  const std::uint64_t size = drawn->allocation.requested;
  const bool is_certain = drawn->is_certain != 0;
  // A certain object smaller than the interval, or a byte after the end, cannot have been drawn.
  if (is_certain ? size < drawn->interval : drawn->offset >= size) return GEIGER_BAD_ARGUMENT;
  if (connection() == nullptr) return GEIGER_NOT_AVAILABLE;
  if (!is_heap(heap)) return GEIGER_WRONG_HEAP;
  const Rate rate = connection()->rate_of_interval(drawn->interval);
  if (rate.image == 0) return GEIGER_OK;  // Not recording: same result as all other reports.
  const Verdict verdict{is_certain ? Verdict::Kind::kCertain : Verdict::Kind::kSampled,
                        is_certain ? 0 : drawn->offset};
  report({heap, drawn->allocation, id_of(drawn->allocation.type)}, verdict, rate,
         caller_registers());
  return GEIGER_OK;
}

geiger_status geiger_get_interval_in_force(uint64_t* bytes) {
  if (bytes == nullptr) return GEIGER_BAD_ARGUMENT;
  *bytes = 0;
  if (connection() == nullptr) return GEIGER_NOT_AVAILABLE;
  const Rate rate = connection()->current_rate();
  *bytes = rate.interval;
  return rate.image != 0 ? GEIGER_OK : GEIGER_NOT_RECORDING;
}

geiger_status geiger_report_free(geiger_heap heap, const void* address) {
  const auto place = reinterpret_cast<std::uint64_t>(address);
  if (place == 0 || place >= kAddressEnd) return GEIGER_BAD_ARGUMENT;
  const geiger::capture::Interface* capture = connection();
  if (capture == nullptr) return GEIGER_NOT_AVAILABLE;
  if (!is_heap(heap)) return GEIGER_WRONG_HEAP;
  (void)capture->report_free(names[heap].load(std::memory_order_relaxed), place,
                             caller_registers());
  return GEIGER_OK;
}

geiger_status geiger_report_reset(geiger_heap heap) {
  const geiger::capture::Interface* capture = connection();
  if (capture == nullptr) return GEIGER_NOT_AVAILABLE;
  if (!is_heap(heap)) return GEIGER_WRONG_HEAP;
  Reset reset{*capture, heap, names[heap].load(std::memory_order_relaxed), caller_registers()};
  capture->for_each_live(free_if_of_heap, &reset);
  return GEIGER_OK;
}

geiger_status geiger_get_heap_totals(geiger_heap heap, geiger_heap_totals* totals) {
  if (totals == nullptr) return GEIGER_BAD_ARGUMENT;
  *totals = {};
  if (connection() == nullptr) return GEIGER_NOT_AVAILABLE;
  if (!is_heap(heap)) return GEIGER_WRONG_HEAP;
  *totals = totals_of(heap);
  return GEIGER_OK;
}
