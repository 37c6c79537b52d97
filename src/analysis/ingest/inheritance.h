// What one segment of a process image hands on to the next that was read.
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ingest/ref_index.h"
#include "analysis/profile/hash.h"
#include "analysis/profile/recording.h"
#include "trace/format.h"

namespace geiger::ingest {

/// Where a sample stands in a recording.
struct SamplePlace {
  std::uint32_t index = profile::kNone;
  bool is_own = true;  ///< In Recording::samples, else in heap_samples.

  [[nodiscard]] profile::Sample& in(profile::Recording& recording) const {
    return is_own ? recording.samples[index] : recording.heap_samples[index];
  }
  [[nodiscard]] std::uint64_t key() const { return std::uint64_t{index} << 1 | (is_own ? 1 : 0); }
};

struct Inheritance {
  /// By the thread's number in the traces.
  template <typename Value>
  using ByThread = tsl::robin_map<std::uint32_t, Value, profile::SpreadHash>;

  std::uint32_t process = profile::kNone;  ///< Into Recording::processes; none was read yet.
  std::uint32_t segment = 0;               ///< Number of the last segment read.
  RefIndex samples, heap_samples;          ///< Of its records.
  ByThread<std::uint32_t> threads;         ///< Into Recording::threads.
  ByThread<std::string> thread_names;
  ByThread<Bytes> pending;        ///< Of the latest record of the thread.
  std::vector<SamplePlace> live;  ///< At its end.
};

/// Finds again, in a segment, the samples that lived at the end of the one read before.
class Survivors {
 public:
  /// `is_next`: no segment is missing between the two. `before` must outlive this.
  Survivors(profile::Recording& recording, const Inheritance& before, bool is_next)
      : recording_(recording), before_(before), is_next_(is_next) {}

  /// The sample that a record carries on; nothing if it was not seen before.
  [[nodiscard]] std::optional<SamplePlace> find(const trace::CarriedRecord& carried);

  /// Frees those that were not found, at `time`: who did it was not recorded.
  void free_others(Nanoseconds time);

  /// Those that still live, and lived before.
  [[nodiscard]] std::vector<SamplePlace> still_living() const;

 private:
  [[nodiscard]] std::optional<SamplePlace> by_reference(trace::Ref previous) const;
  [[nodiscard]] std::optional<SamplePlace> by_birth(const trace::SampleRecord& sample);

  profile::Recording& recording_;
  const Inheritance& before_;
  bool is_next_;
  bool knows_births_ = false;
  tsl::robin_map<std::uint64_t, SamplePlace, profile::SpreadHash> births_;  ///< By time, address.
  tsl::robin_set<std::uint64_t, profile::SpreadHash> found_;                ///< By key().
};

}  // namespace geiger::ingest
