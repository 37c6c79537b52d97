#include "heap/draws.h"

#include "heap/lock.h"
#include "heap/segments.h"
#include "heap/system.h"
#include "heap/threads.h"
#include "sampling/logarithm.h"
#include "sampling/prng.h"

namespace geiger::heap {
// All zero except the interval is valid: no listener, and no seed yet.
constinit Wanted wanted{{}, {kDefaultInterval}, {}, {}, {}};

namespace {

// Streams of a heap's two samplers.
constexpr std::uint64_t kDirectStream = std::uint64_t{1} << 32;

std::uint64_t seed_of(std::uint64_t stream) {
  std::uint64_t seed = wanted.seed.load(std::memory_order_relaxed);
  if (seed == 0) {
    const std::uint64_t fresh = system::random_seed() | 1;
    if (wanted.seed.compare_exchange_strong(seed, fresh, std::memory_order_relaxed)) seed = fresh;
  }
  return sampling::thread_seed(seed, stream);
}

void note_versions(Heap& heap) {
  heap.draws_version = wanted.version.load(std::memory_order_acquire);
  heap.seeding = wanted.seeding.load(std::memory_order_relaxed);
}

void change_interval(Heap& heap, std::uint64_t interval) {
  const double lambda = sampling::rate_of(interval);
  heap.sampler.change_interval(heap.lists.data(), kClasses, interval, lambda);
  if (interval == 0) return;  // Nothing is tried directly.
  if (heap.direct.is_started()) {
    heap.direct.change_interval(interval, lambda);
  } else {
    heap.direct.start(seed_of(kDirectStream + heap.number), interval, lambda, false);
  }
}

}  // namespace

void begin_draws(Heap& heap) {
  note_versions(heap);
  const std::uint64_t interval = wanted.interval.load(std::memory_order_relaxed);
  heap.sampler.start(seed_of(heap.number), interval, sampling::rate_of(interval), false);
  change_interval(heap, interval);
}

void keep_up_slow(Heap& heap) {
  const bool is_reseeded = heap.seeding != wanted.seeding.load(std::memory_order_relaxed);
  note_versions(heap);
  change_interval(heap, wanted.interval.load(std::memory_order_relaxed));
  if (is_reseeded) draw_afresh(heap);
}

void draw_afresh(Heap& heap) {
  heap.sampler.reseed(heap.lists.data(), kClasses, seed_of(heap.number));
  if (heap.direct.is_started()) heap.direct.reseed(seed_of(kDirectStream + heap.number));
}

void reseed_child(std::uint64_t number_of_child) {
  wanted.seed.store(seed_of(~number_of_child) | 1, std::memory_order_relaxed);
}

sampling::Verdict decide_directly(Heap& heap, std::size_t size) {
  return heap.sampler.interval() != 0 ? heap.direct.decide(size) : sampling::Verdict{};
}

void listen(const Listener* listener, std::uint64_t interval, std::uint64_t seed) {
  wanted.interval.store(interval, std::memory_order_relaxed);
  if (seed != 0) {
    wanted.seed.store(seed, std::memory_order_relaxed);
    wanted.seeding.fetch_add(1, std::memory_order_relaxed);
  }
  wanted.listener.store(listener, std::memory_order_release);
  wanted.version.fetch_add(1, std::memory_order_release);
  if (this_heap != &no_heap) keep_up(*this_heap);
}

void keep_memory(bool keeps) { segments.keeps_memory.store(keeps, std::memory_order_relaxed); }

}  // namespace geiger::heap
