// The samples of a profile before a format with integers writes them: one row per stack, block
// size, interval, thread, label and type, one column of integers per sample type of pprof.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/profile/frames/types.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/profile.h"
#include "base/units.h"
#include "pprof/profile_proto.h"

namespace geiger::exports {

struct ProfileRow {
  std::uint32_t stack = profile::kNone;
  std::uint32_t thread = profile::kNone;
  Bytes requested = 0;
  Bytes interval = 0;  ///< That the row's samples are drawn with, or as if with.
  std::uint32_t label = profile::kNone;
  std::uint32_t type = profile::Types::kUnknown;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const ProfileRow&) const = default;
};

/// What distinguishes the rows of a profile.
struct RowExtent {
  bool has_stacks_only = false;  ///< Rows of a stack are one, without labels.
  /// The stacks with fewest bytes become one row; 0: no limit. Of stacks only.
  std::size_t most_rows = 0;
  bool has_sizes = true;  ///< Else rows that differ in size and interval alone are one.
};

/// Stands for the stacks that do not fit into a table (RowExtent::most_rows).
inline constexpr std::uint32_t kOtherStacks = profile::kNone - 1;

struct ProfileTable {
  std::vector<ProfileRow> rows;  ///< Sorted and unique.
  /// One column per sample type, one value per row.
  std::array<std::vector<std::int64_t>, pprof::kSampleTypes.size()> columns;
};

[[nodiscard]] ProfileTable profile_table(const profile::Recording& recording,
                                         const profile::Types& types,
                                         const profile::Profile& allocated,
                                         const profile::Profile& live, const RowExtent& extent);

/// The largest interval that was in force: what left no sample may have been missed by it. 0 of
/// values whose errors are not known.
[[nodiscard]] Bytes period_of(const profile::Recording& recording);

/// When the processes of a recording ran: from the first to the last of them.
struct RecordedTime {
  Nanoseconds start = 0, end = 0;  ///< CLOCK_MONOTONIC; the end not before the start.
  Nanoseconds realtime = 0;        ///< Of the start.
};
[[nodiscard]] RecordedTime recorded_time(const profile::Recording& recording);

}  // namespace geiger::exports
