// The samples of a pprof profile before they are written: one row per stack, size,
// thread, label and type, one column of integers per sample type.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/api/profile.h"

namespace geiger::api {

struct SampleType {
  std::string_view type, unit;
};

/// As `geiger export` has them. A profile of what was allocated fills the columns of
/// alloc_*, one of what is live those of inuse_*.
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
  trace::Ref stack, label, type;
  std::uint32_t thread;
  Bytes requested;
  auto operator<=>(const PprofRow&) const = default;
};

struct PprofTable {
  std::vector<PprofRow> rows;  ///< Sorted and unique.
  std::array<std::vector<std::int64_t>, kSampleTypes.size()> columns;
};

/// The samples of one heap. The space columns hold what the profile measures.
[[nodiscard]] PprofTable pprof_table(const Profile& profile, geiger_heap heap);

}  // namespace geiger::api
