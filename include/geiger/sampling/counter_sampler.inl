// The definitions of counter_sampler.h.
#pragma once

#include <algorithm>
#include <type_traits>

#include "geiger/sampling/counter_sampler.h"

#ifndef GEIGER_SAMPLING_ASSERT
#define GEIGER_SAMPLING_ASSERT(condition) static_cast<void>(0)
#endif

namespace geiger::sampling {

// Used in initial-exec thread-local storage: no construction, no destruction, few bytes.
static_assert(std::is_trivially_copyable_v<CounterSampler>);
static_assert(std::is_trivially_destructible_v<CounterSampler>);
static_assert(sizeof(CounterSampler) <= 64);

GEIGER_SAMPLING_INLINE void CounterSampler::start(std::uint64_t seed, std::uint64_t interval,
                                                  double lambda, bool pure) {
  interval_ = interval;
  lambda_ = lambda;
  is_pure_ = pure ? 1 : 0;
  reseed(seed);
}

GEIGER_SAMPLING_INLINE void CounterSampler::change_interval(std::uint64_t interval, double lambda) {
  GEIGER_SAMPLING_ASSERT(is_started());
  interval_ = interval;
  lambda_ = lambda;
  redraw();
}

GEIGER_SAMPLING_INLINE void CounterSampler::reseed(std::uint64_t seed) {
  generator_ = Xoshiro256pp(seed);
  empties_ = splitmix64(seed) & ~std::uint64_t{0} >> 1;
  redraw();
}

GEIGER_SAMPLING_INLINE std::uint64_t CounterSampler::countdown() const {
  if (is_pure_ || !is_started()) return skip_count_;
  return std::min(skip_count_, interval_ - 1);
}

GEIGER_SAMPLING_INLINE void CounterSampler::settle(std::uint64_t consumed) {
  skip_count_ -= std::min(consumed, countdown());
}

GEIGER_SAMPLING_INLINE Verdict CounterSampler::trial(std::uint64_t size) {
  if (size == 0 || !is_started()) return {};
  if (size >= interval_ && !is_pure_) return {Verdict::Kind::kCertain, 0};
  return try_bytes(size);
}

GEIGER_SAMPLING_INLINE Verdict CounterSampler::decide(std::uint64_t size) {
  if (size != 0) return trial(size);
  if (!is_started() || passes_empty()) return {};
  ++empties_;
  return {Verdict::Kind::kSampled, 0};
}

// thread_seed() makes independent bits of consecutive numbers. Multiples of T are 1/T of all
// numbers of 64 bits, to a relative error of T/2^64.
GEIGER_SAMPLING_INLINE bool CounterSampler::passes_empty() {
  if (!is_started() || thread_seed(empties_, 0) % interval_ == 0) return false;
  ++empties_;
  return true;
}

GEIGER_SAMPLING_INLINE Verdict CounterSampler::try_bytes(std::uint64_t size) {
  GEIGER_SAMPLING_ASSERT(is_started());
  if (size <= skip_count_) {
    skip_count_ -= size;
    return {};
  }
  const Verdict sampled{Verdict::Kind::kSampled, skip_count_};
  redraw();
  return sampled;
}

GEIGER_SAMPLING_INLINE void CounterSampler::redraw() {
  GEIGER_SAMPLING_ASSERT(is_started());
  skip_count_ = skip_count_of(generator_.next(), lambda_);
}

}  // namespace geiger::sampling
