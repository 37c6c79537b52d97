// The message that a document becomes: its fields, and the frame around it. Shared by encoding.cc
// and decoding.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>

#include "fleet/document/columns.h"
#include "fleet/document/document.h"

namespace geiger::fleet {

// Field numbers. A number is never used again for another field.
//
// Columns of like numbers and texts, since like beside like packs best. Rows are those of the
// document's stacks, in their order, and then those of the stacks that are only named by their ids.
namespace in_document {
inline constexpr int kMeasured = 1, kModulesOfLocations = 12, kAddresses = 13,
                     kFramesOfLocations = 14, kTexts = 15, kKinds = 16, kPaths = 17, kBuildIds = 18,
                     kFunctions = 19, kSystemNames = 20, kFiles = 21, kLines = 22, kLeft = 23,
                     kTruncated = 7, kSteps = 24, kOthers = 25;
}
namespace in_measured {
inline constexpr int kService = 1, kVersion = 2, kHost = 3, kProcess = 4, kStarted = 5,
                     kNumbers = 6, kSeed = 7, kExact = 8, kSkew = 9, kExecutable = 10,
                     kLabelName = 11, kLabelValue = 12, kStackIds = 13, kRowsOfStack = 20,
                     kSizes = 15, kIntervals = 16, kSorts = 17, kAllocated = 18, kLive = 19;
}

/// The plain numbers of Window, in the order of the message.
template <typename Its>
auto plain_numbers(Its& window) {
  return std::tie(window.recorded_ms, window.alive_ms, window.interval, window.unsettled_bytes,
                  window.rss_byte_seconds, window.trials, window.hits, window.dropped,
                  window.sequence);
}
inline constexpr std::size_t kPlainNumbers =
    std::tuple_size_v<decltype(plain_numbers(std::declval<Window&>()))>;

inline constexpr std::string_view kMagic = "geigdoc3";
// After the magic: the unpacked size, and a hash of the frame, so that a damaged bit never changes
// a count.
inline constexpr std::size_t kSizeBytes = 4, kHashBytes = 8;
inline constexpr std::size_t kHeaderBytes = kMagic.size() + kSizeBytes + kHashBytes;

}  // namespace geiger::fleet
