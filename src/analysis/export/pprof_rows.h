// The samples of a pprof profile before they are written: one row per stack,
// block size, thread, label and type, one column of integers per sample type.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/profile/profile.h"
#include "analysis/profile/recording.h"
#include "analysis/profile/types.h"

namespace geiger::exports {

struct SampleType {
  std::string_view type, unit;
};

inline constexpr std::array<SampleType, 10> kSampleTypes{{{"alloc_objects", "count"},
                                                          {"alloc_space", "bytes"},
                                                          {"inuse_objects", "count"},
                                                          {"inuse_space", "bytes"},
                                                          {"alloc_objects_variance", "count^2"},
                                                          {"alloc_space_variance", "bytes^2"},
                                                          {"inuse_objects_variance", "count^2"},
                                                          {"inuse_space_variance", "bytes^2"},
                                                          {"samples", "count"},
                                                          {"inuse_samples", "count"}}};

struct PprofRow {
  std::uint32_t stack = profile::kNone;
  std::uint32_t thread = profile::kNone;
  Bytes requested = 0;
  std::uint32_t label = profile::kNone;
  std::uint32_t type = profile::Types::kUnknown;
  // NOLINTNEXTLINE(modernize-use-nullptr): it takes a 0 of the compiler's for ours.
  auto operator<=>(const PprofRow&) const = default;
};

struct PprofTable {
  std::vector<PprofRow> rows;  ///< Sorted and unique.
  /// One column per sample type, one value per row.
  std::array<std::vector<std::int64_t>, kSampleTypes.size()> columns;
};

[[nodiscard]] PprofTable pprof_table(const profile::Recording& recording,
                                     const profile::Types& types, const profile::Profile& allocated,
                                     const profile::Profile& live);

}  // namespace geiger::exports
