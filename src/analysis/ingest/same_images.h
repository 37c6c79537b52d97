// Process images that two recordings have in common, such as copies of a trace that still grows.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/profile/recording.h"

namespace geiger::ingest {

/// Whether two processes are one image: pid, beginning, seed and program are equal. Images of
/// runtimes that recorded no beginning are never the same.
[[nodiscard]] bool is_same_image(const profile::Process& a, const profile::Process& b);

/// Pairs of indexes of the same process image, in two recordings that were read. Thins fates that
/// were thinned further in the other recording to its level, so that a sample is followed in both
/// or in neither.
std::vector<std::pair<std::uint32_t, std::uint32_t>> match_images(profile::Recording& before,
                                                                  profile::Recording& after);

}  // namespace geiger::ingest
