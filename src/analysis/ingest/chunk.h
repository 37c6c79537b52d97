// Chunks: checked, compressed blobs after the records of a sealed image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/error.h"
#include "analysis/ingest/input_file.h"
#include "base/outcome.h"

namespace geiger::ingest {

/// The most bytes that a chunk may unpack to: the names of all symbols of a browser take half.
inline constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{192} << 20;

/// A chunk above 1 MiB unpacks to at most this many times its stored size: names and
/// observations shrink to a tenth, zeros to a thirty-thousandth.
inline constexpr std::uint64_t kMaxExpansion = 64;

/// A chunk as stored in the file: header, stored bytes, padding to 8 bytes.
[[nodiscard]] std::string encode_chunk(trace::ChunkType type, std::string_view payload);

/// Undoes encode_chunk. `stored` are the bytes after the header. Memory grows only with what was
/// really unpacked.
base::Outcome<std::string> decode_chunk(const trace::ChunkHeader& header, std::string_view stored);

/// The place of a chunk in a file.
struct ChunkPlace {
  trace::ChunkType type{};
  std::uint64_t offset = 0;  ///< From the image's start.
  std::uint64_t bytes = 0;   ///< With header and padding; may pass the image's end.
};

/// The chunks of an image.
struct Chunks {
  std::vector<std::string> symbols;       ///< Payloads of kSymbols, in order.
  std::vector<std::string> observations;  ///< Payloads of kObservations, in order.
  std::vector<std::string> unbegun;       ///< Payloads of kUnbegun, in order.
  std::vector<ChunkPlace> places;         ///< Of all, those of unknown types included.
  std::optional<Error> error;             ///< Damage; what came before it is good.
  /// Damage to observations, which nothing else depends on: they are left out.
  std::optional<Error> observations_error;
  bool is_unfinished = false;  ///< The last one was being written when its writer died.
};

[[nodiscard]] Chunks read_chunks(const InputFile& file, const Image& image);

}  // namespace geiger::ingest
