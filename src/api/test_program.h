// A program for tests: allocations of its process heap go through the real capture, by the steps of
// runtime/interpose, at addresses that are not mapped and never reused. Seeds are fixed: a
// constructor sets GEIGER_SEED and restarts the test.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "geiger/geiger.h"
#include "runtime/capture/capture.h"
#include "runtime/capture/tables/filter.h"

namespace geiger::api::test {

inline constexpr std::uint64_t kInterval = 4096;  ///< Of GEIGER_INTERVAL.

/// Each allocation has a number, from 1.
inline std::uint64_t address_of(std::uint64_t number) { return number << 8; }
inline std::uint64_t number_of(std::uint64_t address) { return address >> 8; }

inline std::uint64_t allocations = 0;  // So far, in the process.

/// An allocation of the process's heap at this address.
[[gnu::noinline]] inline std::uint64_t allocate_at(std::uint64_t address, std::uint64_t size) {
  if (!capture::exhausts(size)) return address;
  const capture::Decision decision = capture::decide(size);
  capture::record(decision,
                  {reinterpret_cast<const void*>(address), size, size + size % 16,
                   trace::EntryPoint::kMalloc, 16},
                  unwind::caller_registers());
  return address;
}

inline std::uint64_t allocate(std::uint64_t size) {
  return allocate_at(address_of(++allocations), size);
}

[[gnu::noinline]] inline void release(std::uint64_t address) {
  const auto* pointer = reinterpret_cast<const void*>(address);
  if (capture::filter.maybe_holds(pointer)) {
    capture::release(pointer, unwind::caller_registers());
  }
}

/// Small ones, some about the interval, some far above it.
inline std::uint64_t random_size(std::mt19937_64& random) {
  const std::uint64_t kind = random() % 10;
  if (kind < 7) return 1 + random() % 512;
  if (kind < 9) return 1 + random() % (2 * kInterval);
  return 1 + random() % (20 * kInterval);
}

inline std::vector<geiger_sample> samples_of(geiger_profile profile) {
  std::vector<geiger_sample> samples;
  const auto add = [](void* context, const geiger_sample* sample) {
    static_cast<std::vector<geiger_sample>*>(context)->push_back(*sample);
    return 0;
  };
  if (geiger_visit_samples(profile, add, &samples) != GEIGER_OK) samples.clear();
  return samples;
}

}  // namespace geiger::api::test
