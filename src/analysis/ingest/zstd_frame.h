// Bytes in one frame of zstd.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace geiger::ingest {

// Both throw std::bad_alloc where the library finds no memory: that is not a damaged frame.

/// Empty if the compressor refuses; the frame of anything, nothing included, is not empty.
[[nodiscard]] std::string zstd_frame_of(std::string_view bytes, int level);

/// A frame in which each part has codes of its own: smaller if parts are of different kinds. `ends`
/// are the ends of the parts, ascending; after the last one is another part, which may be empty.
[[nodiscard]] std::string zstd_frame_of(std::string_view bytes, int level,
                                        std::span<const std::size_t> ends);

/// Unpacks one frame of exactly `size` bytes, block by block, so that a false size costs no
/// memory. Empty if `frame` is damaged or of another size.
[[nodiscard]] std::optional<std::string> from_zstd_frame(std::string_view frame,
                                                         std::uint64_t size);

}  // namespace geiger::ingest
