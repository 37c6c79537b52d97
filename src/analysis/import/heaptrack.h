// heaptrack's recordings, interpreted: every allocation, in order.
#pragma once

#include <optional>
#include <string_view>

#include "analysis/import/byte_source.h"
#include "analysis/import/foreign_process.h"

namespace geiger::imports {

/// Whether a text begins like one.
[[nodiscard]] bool is_heaptrack(std::string_view head);

/// More allocations are counted, not followed: they would take more than half a GiB.
inline constexpr std::size_t kMostFollowed = std::size_t{4} << 20;

/// Reads it into `process` of `recording`. Everything is exact, unless geiger wrote the file: then
/// its samples are read back. A free names a stack and a size, not an object: it is taken to free
/// the youngest that fits, so what is live is exact and single lifetimes are not. Instants have the
/// grain of its time stamps, 10 ms. Beyond `most_followed` allocations there are counts only. Of an
/// error the path is left to the caller.
[[nodiscard]] ingest::FileOutcome read_heaptrack(Lines& lines, profile::Recording& recording,
                                                 ForeignProcess& process, Origin& origin,
                                                 std::size_t most_followed = kMostFollowed);

}  // namespace geiger::imports
