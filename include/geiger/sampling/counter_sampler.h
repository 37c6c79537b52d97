// The sampler in its counter form: decides which allocations contain a drawn byte.
//
// Every allocated byte is a trial that succeeds with probability p = 1/T. Instead of tossing coins,
// it draws the gaps between successes: the skip count K, the number of failed trials before the
// next success, with P(K = k) = q^k p. Then
//
//   an allocation of `size` bytes is a sample  <=>  size > K
//
// and its drawn byte has the offset K. At size == K every byte is a failed trial and the next byte
// is the success, so the allocation is not a sample and K becomes 0; an allocation of 0 bytes
// contains no trial and is not a sample by itself (decide()).
//
// Certain objects. Unless `pure`, an allocation of at least T bytes is recorded with probability 1
// and not tried at all: K does not change. As K may be larger than T, the fast path's counter is
// armed with min(K, T - 1), so that every certain object overruns it and is seen.
//
// Invariant between calls, once started: K >= 0 is the number of trials still to
// fail. The fast path may let bytes pass while their sum is <= countdown(); then settle() subtracts
// them from K, and trial() decides the allocation that did not fit.
//
//   0 <= countdown() <= K,   countdown() <= T - 1 unless pure
#pragma once

#include <cstdint>

#include "geiger/sampling/prng.h"
#include "geiger/sampling/skip_count.h"

namespace geiger::sampling {

/// The outcome of one allocation.
struct Verdict {
  enum class Kind : std::uint8_t {
    kNotSampled,
    kSampled,  ///< Contains the drawn byte at `offset`.
    kCertain,  ///< At least T bytes: recorded with probability 1; `offset` is 0.
  };
  Kind kind = Kind::kNotSampled;
  std::uint64_t offset = 0;  ///< 0-based, below the size.
};

/// Zero-initialised is valid and means unarmed: countdown() is 0, so the first nonzero allocation
/// leaves the fast path and sees !is_started().
///
/// Threads: owned by one. Signals: a handler must not enter while its thread is
/// inside. Fork: the child must reseed() before its first allocation is decided,
/// else parent and child draw the same bytes. Allocates: never.
class CounterSampler {
 public:
  constexpr CounterSampler() : is_pure_(0), empties_(0) {}

  /// Starts with a new skip count. `interval` = T >= 1 in bytes, `lambda` = rate_of(T). `pure`:
  /// every allocation is tried, none is certain.
  void start(std::uint64_t seed, std::uint64_t interval, double lambda, bool pure);

  /// Changes T. Replaces the pending skip count without looking at it: a rule that depends on it
  /// (redraw only if the hit is near) would be biased. Rescaling it by the ratio of the intervals
  /// would save the draw but is correct only for large intervals: skips are integers, and at T = 1
  /// there is nothing to scale. Requires is_started(); settle() first.
  void change_interval(std::uint64_t interval, double lambda);

  /// Changes the generator and redraws the skip count (fork's child).
  void reseed(std::uint64_t seed);

  /// Bytes that may pass unseen from now on; set the fast path's counter to this. An allocation
  /// larger than the rest of it must go to trial().
  [[nodiscard]] std::uint64_t countdown() const;

  /// Accounts for `consumed` bytes that passed since countdown() was last read, all in allocations
  /// that fitted. Requires consumed <= countdown(); larger values are clamped.
  void settle(std::uint64_t consumed);

  /// Decides one allocation, after settle(). Any size; 0 is never a sample.
  Verdict trial(std::uint64_t size);

  /// Tries any number of bytes, after settle(); never certain. A caller may ignore the verdict on
  /// bytes outside of allocations; as this does not depend on the outcome, later bytes keep their
  /// law. Requires is_started().
  Verdict try_bytes(std::uint64_t bytes);

  /// Like trial(), for heaps in which allocations of 0 bytes are objects too: each of these is a
  /// sample with the probability of one byte, 1/T, independently of all others. It does not change
  /// K, so all else is decided as if it did not exist.
  Verdict decide(std::uint64_t size);

  /// Decides an object without bytes unless it is a sample: false changes nothing, and decide(0)
  /// makes it one. A signal handler may interrupt it and call it: at worst two objects then share
  /// a random number.
  bool passes_empty();

  /// Drops the pending trials and draws new ones; allowed if the decision does not depend on their
  /// outcome. Requires is_started().
  void redraw();

  [[nodiscard]] std::uint64_t interval() const { return interval_; }  ///< T; 0 = unarmed.
  [[nodiscard]] double lambda() const { return lambda_; }
  [[nodiscard]] bool is_pure() const { return is_pure_ != 0; }
  [[nodiscard]] bool is_started() const { return interval_ != 0; }

 private:
  Xoshiro256pp generator_;
  std::uint64_t skip_count_ = 0;
  std::uint64_t interval_ = 0;
  double lambda_ = 0;
  std::uint64_t is_pure_ : 1;
  std::uint64_t empties_ : 63;  // Objects without bytes so far, from a random number on.
};

}  // namespace geiger::sampling

#ifndef GEIGER_SAMPLING_COMPILED
#define GEIGER_SAMPLING_INLINE inline
#include "geiger/sampling/counter_sampler.inl"
#endif
