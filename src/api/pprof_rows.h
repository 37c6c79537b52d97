// The samples of a pprof profile before they are written: one row per stack, size,
// interval, thread, label and type, of lifetimes also per end; one column of integers per
// sample type.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "api/profile.h"
#include "pprof/sample_types.h"

namespace geiger::api {

/// How the objects of a row ended. All 0 except in profiles of lifetimes.
struct PprofEnd {
  trace::Ref stack;        ///< Stack of the free; 0 = alive, or not recorded.
  std::uint32_t thread;    ///< Thread of the free.
  std::uint32_t log2_age;  ///< Of their lifetime in nanoseconds, rounded down.
  bool is_freed;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const PprofEnd&) const = default;
};

struct PprofRow {
  trace::Ref stack, label, type;
  std::uint32_t thread;
  Bytes requested;
  Bytes interval;  ///< Of the row's samples, or equivalent to it.
  PprofEnd end;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const PprofRow&) const = default;
};

struct PprofTable {
  std::vector<PprofRow> rows;  ///< Sorted and unique.
  std::array<std::vector<std::int64_t>, pprof::kSampleTypes.size()> columns;
};

/// The rows of one heap's samples. The space columns contain the measure of the profile.
[[nodiscard]] PprofTable pprof_table(const Profile& profile, geiger_heap heap);

}  // namespace geiger::api
