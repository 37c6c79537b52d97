// Folds recursion: a cycle of frames that repeats is kept for two rounds.
//
// The stack keeps its set of frames and its set of pairs of caller and callee, as every round has
// the same ones, so that it passes through the same functions as before. Only how often they repeat
// is lost.
#pragma once

#include <cstddef>
#include <cstdint>

namespace geiger::unwind {

/// Frames of the longest cycle that is recognised.
inline constexpr std::size_t kLongestCycle = 8;

/// Folds `count` frames in place and returns how many are left: at most kLongestCycle passes over
/// them. A cycle that was folded and goes on is folded to the same two rounds.
std::size_t fold(std::uint64_t* frames, std::size_t count);

}  // namespace geiger::unwind
