// How many frames of a stack are followed.
#pragma once

#include <cstdint>

namespace geiger::vocabulary {

/// By default; with an interpreter's frames 1,023.
inline constexpr std::uint64_t kUsualFrames = 255;
/// The largest setting.
inline constexpr std::uint64_t kMostFrames = 262'144;

}  // namespace geiger::vocabulary
