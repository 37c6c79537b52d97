// The sampler's generators: splitmix64 spreads seeds, xoshiro256++ draws.
//
// Both are the published algorithms of Blackman and Vigna. Quality costs nothing here: one number
// is drawn per sampling interval, not per allocation. A weaker generator would save a nanosecond
// per half a mebibyte and cause lattices in the tail of the skips.
//
// Threads: one generator belongs to one thread. Signals: a handler must not use
// the generator it may have interrupted. Allocates: never.
#pragma once

#include <cstdint>

namespace geiger::sampling {

/// Steps `state` (any value) and returns 64 well-mixed bits of it. For a fixed
/// number of steps the map from state to result is a bijection, so different
/// seeds never collide.
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

/// The seed of thread number `thread_number` of a process. Distinct numbers give
/// distinct seeds; the process seed is mixed first so that processes whose seeds
/// are close together do not share streams.
constexpr std::uint64_t thread_seed(std::uint64_t process_seed, std::uint64_t thread_number) {
  std::uint64_t state = process_seed;
  state = splitmix64(state) ^ thread_number;
  return splitmix64(state);
}

/// xoshiro256++: period 2^256 - 1. A default-constructed generator has the zero state, the only one
/// that never changes: it must be replaced before next().
class Xoshiro256pp {
 public:
  constexpr Xoshiro256pp() = default;
  /// Any seed is valid: of four consecutive splitmix64 outputs at most one is zero.
  explicit constexpr Xoshiro256pp(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = splitmix64(seed);
  }

  /// The next 64 uniform bits.
  constexpr std::uint64_t next() {
    const std::uint64_t result = rotate_left(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate_left(state_[3], 45);
    return result;
  }

 private:
  static constexpr std::uint64_t rotate_left(std::uint64_t word, int bits) {
    return word << bits | word >> (64 - bits);
  }

  std::uint64_t state_[4]{};
};

}  // namespace geiger::sampling
