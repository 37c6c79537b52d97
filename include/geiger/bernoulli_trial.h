// Samples events independently with one probability, at the cost of a subtraction.
//
// Instead of tossing a coin per event, it draws the number K of failures before the next success,
// P(K = k) = (1-p)^k p, so that random numbers are needed only at a success:
//
//   a block of n trials has a success  <=>  n > K,   else K becomes K - n
//
// At n == K all n trials fail, and the next one succeeds. A block without trials, n == 0, never
// succeeds. The trials after a success in its block are not made; as the law of K is memoryless,
// the next block starts with a new draw.
//
// Header only, C++17, no library, no libm, no exceptions. The same seed gives the same results on
// every machine.
#pragma once

#include <cstdint>
#include <limits>

#include "geiger/sampling/logarithm.h"
#include "geiger/sampling/prng.h"
#include "geiger/sampling/skip_count.h"

namespace geiger::sampling {

/// Trials that succeed with one probability each, independently. `Generator` has
/// `next()`, 64 uniform bits; it is copied in.
///
/// Threads: one at a time. Signals: a handler must not use what it may have interrupted.
/// Fork: a child that continues with a copy draws the same as its parent, until its
/// set_random_state() and redraw(). Allocates: never.
template <class Generator>
class BasicBernoulliTrial {
 public:
  /// Trials that succeed with `probability`; a value outside [0, 1] (or NaN) counts as 0, which
  /// probability() then returns.
  BasicBernoulliTrial(double probability, Generator generator) : generator_(generator) {
    if (!set_probability(probability)) draw();
  }

  /// One trial: true with probability(). Equal to trial(1).
  bool trial() { return trial(1); }

  /// Makes `count` trials, true if one succeeds: probability 1 - (1-p)^count. Takes
  /// constant time for any count; 0 is never true.
  bool trial(std::uint64_t count) {
    if (count <= skip_count_) {
      skip_count_ -= count;
      return false;
    }
    return reaches_success(count);
  }

  /// Changes the probability, in [0, 1], and redraws. 0 and 1 use no random numbers.
  /// Returns false and changes nothing if `probability` is outside [0, 1] or NaN.
  [[nodiscard]] bool set_probability(double probability) {
    if (!(probability >= 0 && probability <= 1)) return false;
    probability_ = probability;
    lambda_ = rate_of_probability(probability);
    draw();
    return true;
  }

  /// Changes the generator. Trials that were already drawn stay; redraw() drops them.
  void set_random_state(Generator generator) { generator_ = generator; }

  /// Drops the pending trials and draws new ones. Changes no probability as long as the decision to
  /// call it does not depend on results still to come.
  void redraw() { draw(); }

  [[nodiscard]] double probability() const { return probability_; }

 private:
  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  // Invariant: the next skip_count_ trials fail. The one after them succeeds, or, if the count
  // is_clamped_, is not drawn yet.
  bool reaches_success(std::uint64_t count) {
    while (is_clamped_ && count > skip_count_) {
      count -= skip_count_;
      draw();
    }
    if (count <= skip_count_) {
      skip_count_ -= count;
      return false;
    }
    draw();
    return true;
  }

  // 2^64 - 1 represents itself and all larger counts: that many failures and then, as the law is
  // memoryless, a new draw. With p = 0 every count is such a one.
  void draw() {
    if (probability_ == 0) {
      skip_count_ = kUnbounded;
    } else if (probability_ == 1) {
      skip_count_ = 0;
    } else {
      skip_count_ = skip_count_of(generator_.next(), lambda_);
    }
    is_clamped_ = skip_count_ == kUnbounded;
  }

  std::uint64_t skip_count_ = 0;
  double probability_ = 0;
  double lambda_ = 0;
  bool is_clamped_ = false;
  Generator generator_;
};

/// Trials with the generator Xoshiro256pp, the usual choice: `BernoulliTrial(0.01, seed)`.
class BernoulliTrial : public BasicBernoulliTrial<Xoshiro256pp> {
 public:
  using BasicBernoulliTrial::BasicBernoulliTrial;
  using BasicBernoulliTrial::set_random_state;

  BernoulliTrial(double probability, std::uint64_t seed)
      : BasicBernoulliTrial(probability, Xoshiro256pp(seed)) {}

  /// Sets the generator from `seed`. Different seeds give different numbers.
  void set_random_state(std::uint64_t seed) { set_random_state(Xoshiro256pp(seed)); }
};

}  // namespace geiger::sampling
