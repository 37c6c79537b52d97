// Payloads: protobuf messages read field by field, and bytes in one frame of zstd.
#pragma once

#include <cstdint>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <span>
#include <string>
#include <string_view>

namespace geiger::ingest {

// Reads a protobuf message field by field.

/// What to do where a field has this number.
template <typename Take>
struct OnField {
  OnField(protozero::pbf_tag_type its_number, Take its_take) : number(its_number), take(its_take) {}

  protozero::pbf_tag_type number;
  Take take;
};

/// Reads all fields of a message, those of other numbers without effect.
template <typename... Take>
void read_fields(protozero::pbf_reader& reader, const OnField<Take>&... fields) {
  const auto is_taken = [&reader](const auto& field) {
    if (reader.tag() != field.number) return false;
    field.take();
    return true;
  };
  while (reader.next()) {
    if (!(is_taken(fields) || ...)) reader.skip();
  }
}

// Bytes in one frame of zstd.

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
