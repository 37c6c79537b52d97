// What one segment of a process image passes on to the next one that is read.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/ingest/decode/ref_index.h"
#include "analysis/profile/hash.h"
#include "analysis/profile/recording.h"
#include "trace/survivors.h"

namespace geiger::ingest {

/// The place of a sample in a recording.
struct SamplePlace {
  std::uint32_t index = profile::kNone;
  bool is_own = true;  ///< In Recording::samples, else in heap_samples.

  [[nodiscard]] profile::Sample& in(profile::Recording& recording) const {
    return is_own ? recording.samples[index] : recording.heap_samples[index];
  }
};

struct ThreadNames {
  std::string first, last;
};

struct Inheritance {
  /// By the thread's number in the traces.
  template <typename Value>
  using ByThread = tsl::robin_map<std::uint32_t, Value, profile::SpreadHash>;

  std::uint32_t process = profile::kNone;  ///< Into Recording::processes; none was read yet.
  std::uint32_t segment = 0;               ///< Number of the last segment read.
  RefIndex samples, heap_samples;          ///< Of its records.
  ByThread<std::uint32_t> threads;         ///< Into Recording::threads.
  ByThread<ThreadNames> thread_names;
  ByThread<Bytes> pending;         ///< Of the latest record of the thread.
  std::vector<SamplePlace> older;  ///< That live, as far as is known, and have no record in it.

  /// The samples that lived at its end.
  [[nodiscard]] trace::Survivors<SamplePlace> survivors(profile::Recording& recording) const;
};

}  // namespace geiger::ingest
