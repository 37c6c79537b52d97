// How many frames of a stack are followed.
#pragma once

#include <cstdint>

namespace geiger::vocabulary {

/// Unless more is asked for; with an interpreter's frames 1,023.
inline constexpr std::uint64_t kUsualFrames = 255;
/// The most that can be asked for.
inline constexpr std::uint64_t kMostFrames = 262'144;

}  // namespace geiger::vocabulary
