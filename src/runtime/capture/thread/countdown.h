// The protocol between a countdown and its sampler. The process's heap has one countdown per thread
// (settling.h), each custom heap one per thread that reports to it
// (api/heaps/custom_heaps.cc):
//
//   allocate   countdown -= size; below 0, or no bytes?              fast path: exhausts()
//   take       the fast path no longer owns the countdown
//   settle     the bytes since it was armed failed their trials
//   decide     the allocation that exhausted it is tried
//   arm        the countdown is set to the sampler's
//
// Invariant, between arm and take: armed - countdown bytes passed, armed <= sampler.countdown(),
// and none of them was drawn.
//
// The callers decide how much a signal handler may allocate meanwhile, and how to count its bytes,
// which settle() and arm() report as unseen.
//
// Threads: the owner alone. Signals: each step is one atomic exchange of the countdown. Fork:
// the child sets both to 0 and draws again. Allocates: never.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "sampling/samplers.h"

namespace geiger::capture {

/// Adds to a number that only its owner writes and others read.
template <typename Number>
void add(std::atomic<Number>& total, Number value) {
  total.store(total.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

/// Takes a countdown out of use and sets it to `meanwhile`. Returns its value before the allocation
/// of `size` bytes that exhausted it: the fast path subtracted them, and a wrapped value would last
/// for ever.
inline std::uint64_t take_countdown(std::uint64_t& countdown, std::uint64_t meanwhile, Bytes size) {
  return std::atomic_ref(countdown).exchange(meanwhile, std::memory_order_relaxed) + size;
}

/// Settles the bytes since the countdown was armed; its value is now `rest`. Returns the bytes
/// without trials: a handler allocated them before take_countdown(). `failed(bytes)` counts the
/// others.
template <typename Failed>
std::uint64_t settle(sampling::CounterSampler& sampler, std::uint64_t armed, std::uint64_t rest,
                     const Failed& failed) {
  GEIGER_ASSERT(armed <= sampler.countdown());
  const std::uint64_t consumed = armed - rest;
  const std::uint64_t tried = std::min(consumed, std::min(armed, sampler.countdown()));
  sampler.settle(tried);
  failed(tried);
  return consumed - tried;
}

/// Adds one decided allocation to `totals`, which has tried(bytes), hit(tail_bytes) and
/// certain(bytes). These are of bytes, so an allocation without bytes adds nothing.
template <typename Totals>
void count_decided(const Totals& totals, Bytes size, const sampling::Verdict& verdict) {
  using Kind = sampling::Verdict::Kind;
  if (size == 0) return;
  switch (verdict.kind) {
    case Kind::kCertain:
      totals.certain(size);
      break;
    case Kind::kSampled:
      totals.tried(verdict.offset + 1);
      totals.hit(size - verdict.offset - 1);
      break;
    case Kind::kNotSampled:
      totals.tried(size);
      break;
  }
}

/// Hands a countdown that was set to `meanwhile` back to the fast path. Returns its new value.
/// `next()` computes that value; `unseen(bytes)` accounts for the bytes that handlers allocated
/// meanwhile, and may change next().
template <typename Next, typename Unseen>
std::uint64_t arm_countdown(std::uint64_t& countdown, std::uint64_t meanwhile, const Next& next,
                            const Unseen& unseen) {
  const std::atomic_ref counter(countdown);
  for (;;) {
    const std::uint64_t armed = next();
    const std::uint64_t left = counter.exchange(armed, std::memory_order_relaxed);
    if (left == meanwhile) return armed;
    const std::uint64_t since = armed - counter.exchange(meanwhile, std::memory_order_relaxed);
    unseen(meanwhile - left + since);
  }
}

}  // namespace geiger::capture
