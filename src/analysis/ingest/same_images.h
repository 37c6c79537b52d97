// Process images that two recordings have in common, such as copies of a trace that still grows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/profile/recording.h"

namespace geiger::ingest {

/// Tells process images apart: pid, beginning, seed and program.
using ImageIdentity = std::tuple<std::uint32_t, Nanoseconds, std::uint64_t, std::string>;

/// Nothing for images of runtimes that recorded no beginning: these are never the same.
[[nodiscard]] std::optional<ImageIdentity> identity_of(const profile::Process& process);

/// Pairs of indexes of the same process image, in two recordings that were read. Thins fates that
/// were thinned further in the other recording to its level, so that a sample is followed in both
/// or in neither.
std::vector<std::pair<std::uint32_t, std::uint32_t>> match_images(profile::Recording& before,
                                                                  profile::Recording& after);

}  // namespace geiger::ingest
