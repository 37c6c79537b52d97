// What writers and readers of pprof profiles share: numbers of fields, sample types, tags for
// labels.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// profile.proto as numbers: what its writers and its reader share. Constants only.
/// Field numbers, as far as they are written or read.

namespace geiger::pprof::field {

enum Profile : std::uint32_t {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
  kDocumentation = 15,  ///< The last one that there is.
};
enum ValueType : std::uint32_t { kType = 1, kUnit = 2 };
enum Sample : std::uint32_t { kLocationId = 1, kValue = 2, kLabel = 3 };
enum Label : std::uint32_t { kKey = 1, kStr = 2, kNum = 3, kNumUnit = 4 };
enum Mapping : std::uint32_t {
  kMappingId = 1,
  kStart = 2,
  kLimit = 3,
  kOffset = 4,
  kFilename = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
  kHasInlineFrames = 10,
};
enum Location : std::uint32_t { kLocId = 1, kMappingRef = 2, kAddress = 3, kLine = 4 };
enum Line : std::uint32_t { kFunctionRef = 1, kLineNumber = 2 };
enum Function : std::uint32_t { kFunId = 1, kName = 2, kSystemName = 3, kFile = 4 };

}  // namespace geiger::pprof::field

namespace geiger::pprof {

// The sample types of geiger's pprof profiles, for the export and for the API's writer alike.

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

/// Labels that are texts: the allocating thread, the type of the objects, the labels of the
/// program.
inline constexpr std::string_view kThreadLabel = "thread";
inline constexpr std::string_view kTypeLabel = "type";
inline constexpr std::string_view kLabelLabel = "label";

/// Of stacks that are accused of a leak: "suspect", and the function that owns several.
inline constexpr std::string_view kLeakLabel = "leak";
inline constexpr std::string_view kLeakOwnerLabel = "leak_owner";

// The tags that a sample's labels become in a pprof profile, and back.
//
// A label `key=value` becomes the tag `key` with the text `value`; of several with one key the
// innermost counts. The tag `label` is the path of all labels, as reports write it, unless there
// is but one and it is such a pair. So no label is lost, and pprof can select by key
// (-tagfocus=tenant=acme) and by path (-tagfocus=label=...).

struct Tag {
  std::string key, value;
  bool operator==(const Tag&) const = default;
};

/// Between the labels of a path.
inline constexpr std::string_view kInLabel = " / ";

/// The tags of the labels in force, innermost first: in the order of the labels, then the path.
[[nodiscard]] std::vector<Tag> tags_of_labels(std::span<const std::string_view> innermost_first);

/// The labels that have these tags, outermost first: those of the path, then pairs that are not
/// in it. Tags of geiger's own keys are not labels.
[[nodiscard]] std::vector<std::string> labels_of_tags(std::span<const Tag> tags);

}  // namespace geiger::pprof
