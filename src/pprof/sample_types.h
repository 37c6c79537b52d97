// What geiger writes of each sample into a pprof profile, whoever writes it.
#pragma once

#include <array>
#include <string_view>

namespace geiger::pprof {

struct SampleType {
  std::string_view type, unit;
};

/// In this order. A profile of what was allocated fills the columns of alloc_*, one of what is
/// live those of inuse_*.
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

}  // namespace geiger::pprof
