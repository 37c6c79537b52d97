// A listener for tests: keeps the last sample of each thread, and the live samples.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "heap/listener.h"

namespace geiger::heap {

struct TestListener {
  static std::uint64_t hash(std::uint64_t number, const void* address) {
    return (number * 0x9e3779b97f4a7c15 ^ reinterpret_cast<std::uintptr_t>(address)) *
           0xbf58476d1ce4e5b9;
  }

  static inline thread_local Sample last{};
  static inline thread_local bool has_last = false;
  static inline std::atomic<std::uint64_t> sampled{0};
  static inline std::atomic<std::uint64_t> freed{0};
  static inline std::atomic<std::uint64_t> live_sum{0};  ///< Of hashes of number and address.

  /// The sample of the last call, or null.
  static const Sample* take_last() {
    if (!has_last) return nullptr;
    has_last = false;
    return &last;
  }
  static void reset() {
    has_last = false;
    sampled = freed = live_sum = 0;
  }
  /// Each sample ended once, with its own number and address.
  static bool all_ended() { return sampled == freed && live_sum == 0; }

  static constexpr Listener kCalls{[](const Sample* sample) {
                                     last = *sample;
                                     has_last = true;
                                     const std::uint64_t number = 1 + sampled.fetch_add(1);
                                     live_sum += hash(number, sample->address);
                                     return number;
                                   },
                                   [](std::uint64_t number, const void* address) {
                                     freed.fetch_add(1);
                                     live_sum -= hash(number, address);
                                   }};
};

}  // namespace geiger::heap
