// The sample types of geiger's pprof profiles, for the export and for the API's writer alike.
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

/// Behind them in a profile of lifetimes. A row whose free has a stack is followed by one of that
/// stack, which fills these columns and no others; both have the same pair label.
inline constexpr std::array<SampleType, 2> kFreedTypes{
    {{"freed_objects", "count"}, {"freed_space", "bytes"}}};

/// Labels of rows of lifetimes: the number of the pair; the least time that the objects lived, a
/// power of two, in nanoseconds; and how that ended, "freed" or "alive", when the profile did.
inline constexpr std::string_view kPairLabel = "pair";
inline constexpr std::string_view kLifetimeLabel = "lifetime";
inline constexpr std::string_view kEndLabel = "end";

/// Numeric labels, in bytes: the size of each object of a row, and the interval that drew its
/// samples where that is not the profile's period. With them and the columns above every sum of
/// the row is got back.
inline constexpr std::string_view kSizeLabel = "bytes";
inline constexpr std::string_view kIntervalLabel = "interval";

/// Labels that are texts: the allocating thread, the type of the objects, and the program's labels
/// (label_tags.h).
inline constexpr std::string_view kThreadLabel = "thread";
inline constexpr std::string_view kTypeLabel = "type";
inline constexpr std::string_view kLabelLabel = "label";

}  // namespace geiger::pprof
