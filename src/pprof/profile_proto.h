// profile.proto as numbers: what its writers and its reader share. Constants only.
#pragma once

#include <cstdint>

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
