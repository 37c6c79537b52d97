// Measures the allocations of benchmarks, for Google Benchmark (1.5 and later):
//
//   geiger::BenchmarkMemoryManager memory;
//   benchmark::RegisterMemoryManager(&memory);
//   benchmark::RunSpecifiedBenchmarks();
//   benchmark::RegisterMemoryManager(nullptr);
//
// Link with geiger::geiger and benchmark::benchmark. Google Benchmark runs each benchmark once more
// to measure memory, so measuring does not slow the timed runs.
//
//   total_allocated_bytes   exact, at any interval
//   num_allocs              exact at an interval of 1 byte (the default), else estimated
//   max_bytes_used          as num_allocs: most bytes live at once, of allocations since Start()
//   net_heap_growth         as num_allocs: bytes live at Stop(), of allocations since Start()
//
// The last three exclude allocations of 0 bytes and those before Start(). A value that is not
// available is benchmark::MemoryManager::TombstoneValue; status() has the reason.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "geiger/geiger.hpp"

namespace geiger {

/// The memory manager to register, as shown at the top of this file.
class BenchmarkMemoryManager : public benchmark::MemoryManager {
 public:
  /// `interval`: mean bytes per sample, 1 to 2^40. 1 records every allocation, with room for about
  /// a million of them (GEIGER_CAPACITY); larger intervals last longer and give estimates.
  explicit BenchmarkMemoryManager(std::uint64_t interval = 1) : interval_(interval) {}

  void Start() override {
    status_ = geiger_start_profile(GEIGER_LIFETIMES, interval_, &token_);
    before_ = process_allocated_bytes();
  }

  void Stop(Result& result) override {
    const ProcessBytes after = process_allocated_bytes();
    constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();
    result.num_allocs = result.max_bytes_used = result.net_heap_growth = kUnknown;
    const bool is_exact = before_.status == GEIGER_OK && after.status == GEIGER_OK &&
                          before_.missing == 0 && after.missing == 0;
    result.total_allocated_bytes =
        is_exact ? static_cast<std::int64_t>(after.bytes - before_.bytes) : kUnknown;
    objects_ = {};
    geiger_profile stopped{};
    const geiger_status status = geiger_stop_profile(token_, &stopped);
    if (status_ == GEIGER_OK) status_ = status;
    if (status_ == GEIGER_OK) read(Profile(stopped), result);
  }
  /// For Google Benchmark before 1.8; removed in later versions.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winconsistent-missing-override"
#endif
  void Stop(Result* result) { Stop(*result); }  // NOLINT(modernize-use-override)
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

  /// The status of the last benchmark: GEIGER_OVERWRITTEN if there was not enough room for its
  /// allocations.
  [[nodiscard]] geiger_status status() const { return status_; }
  /// The number of allocations of the last benchmark, with its 95 % confidence interval.
  [[nodiscard]] const geiger_estimate& objects() const { return objects_; }

 private:
  struct Event {
    std::uint64_t time;
    double bytes;  ///< Negative for a free.
  };

  void read(const Profile& profile, Result& result) {
    std::vector<Event> events;
    double live = 0;
    status_ = profile.for_each([&](const geiger_sample& sample) {
      if (sample.heap != 0) return;
      events.push_back({sample.time, sample.weighted_bytes});
      if (sample.is_freed != 0) {
        events.push_back({sample.time + sample.lifetime, -sample.weighted_bytes});
      } else {
        live += sample.weighted_bytes;
      }
    });
    if (status_ != GEIGER_OK) return;
    objects_ = profile.total(GEIGER_OBJECTS);
    result.num_allocs = std::llround(objects_.value);
    result.net_heap_growth = std::llround(live);
    result.max_bytes_used = std::llround(peak_of(events));
  }

  /// The most bytes live at once. If a free and an allocation have the same time, the free came
  /// first.
  static double peak_of(std::vector<Event>& events) {
    std::sort(events.begin(), events.end(), [](const Event& one, const Event& other) {
      return std::pair(one.time, one.bytes) < std::pair(other.time, other.bytes);
    });
    double live = 0;
    double largest = 0;
    for (const Event& event : events) {
      live += event.bytes;
      largest = std::max(largest, live);
    }
    return largest;
  }

  std::uint64_t interval_;
  geiger_token token_{};
  ProcessBytes before_;
  geiger_status status_ = GEIGER_NOT_RECORDING;
  geiger_estimate objects_{};
};

}  // namespace geiger
