// Chunks: checked, compressed blobs behind the records of a sealed image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ingest/error.h"
#include "analysis/ingest/image.h"
#include "analysis/ingest/input_file.h"

namespace geiger::ingest {

/// More than a chunk may ever unpack to: names of every symbol of a browser are
/// a tenth of it.
inline constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{1} << 30;

/// A chunk as it stands in the file: header, stored bytes, padding to 8 bytes.
[[nodiscard]] std::string encode_chunk(trace::ChunkType type, std::string_view payload);

/// Undoes encode_chunk. `stored` are the bytes behind the header. The reason of
/// a failure into `reason`; memory grows only with what was really unpacked.
[[nodiscard]] std::optional<std::string> decode_chunk(const trace::ChunkHeader& header,
                                                      std::string_view stored, std::string& reason);

/// The chunks of an image.
struct Chunks {
  std::vector<std::string> symbols;  ///< Payloads of kSymbols, in order.
  std::optional<Error> error;        ///< Damage; what came before it is good.
  bool is_unfinished = false;        ///< The last one was being written when its writer died.
};

[[nodiscard]] Chunks read_chunks(const InputFile& file, const Image& image);

}  // namespace geiger::ingest
