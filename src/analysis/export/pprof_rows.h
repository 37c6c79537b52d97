// The samples of a pprof profile before they are written: one row per stack,
// block size, interval, thread, label and type, one column of integers per sample type.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/export/pprof.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"
#include "pprof/sample_types.h"

namespace geiger::exports {

struct PprofRow {
  std::uint32_t stack = profile::kNone;
  std::uint32_t thread = profile::kNone;
  Bytes requested = 0;
  Bytes interval = 0;  ///< That the row's samples are drawn with, or as if with.
  std::uint32_t label = profile::kNone;
  std::uint32_t type = profile::Types::kUnknown;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const PprofRow&) const = default;
};

/// Stands for the stacks that do not fit into a table (PprofExtent::most_rows).
inline constexpr std::uint32_t kOtherStacks = profile::kNone - 1;

struct PprofTable {
  std::vector<PprofRow> rows;  ///< Sorted and unique.
  /// One column per sample type, one value per row.
  std::array<std::vector<std::int64_t>, pprof::kSampleTypes.size()> columns;
};

[[nodiscard]] PprofTable pprof_table(const profile::Recording& recording,
                                     const profile::Types& types, const profile::Profile& allocated,
                                     const profile::Profile& live, const PprofExtent& extent);

}  // namespace geiger::exports
