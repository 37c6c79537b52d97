// Finishing traces whose processes are gone: sealing, packing, and chunks: checked, compressed
// blobs behind the records.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/files.h"
#include "analysis/ingest/traces.h"
#include "base/outcome.h"
#include "trace/format.h"

namespace geiger::ingest {

// Chunks: checked, compressed blobs after the records of a sealed image.

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

// Finishing traces whose processes are gone: sealing, storing chunks, packing.
//
// A trace that is sealed ends after its last record instead of at its capacity, and chunks may
// follow. Everything here keeps a file readable at any instant, also if geiger is killed: a lone
// image is changed in place in an order that leaves the old or the new contents valid, anything
// else is written to a new file and renamed. The order does not protect against a loss of power;
// the checksum of the chunk detects that. The records themselves are not synced either.

/// The contents of a chunk to write.
struct ChunkContents {
  trace::ChunkType type{};
  std::string payload;
};

/// Chunks for one image of a file.
struct ImageChunks {
  std::uint32_t image = 0;  ///< Position among the images of the file, from 0.
  std::vector<ChunkContents> chunks;
};

/// Seals the image of a trace and gives its unused space back. A sealed one stays
/// as it is. Fails for a trace that its process still writes.
[[nodiscard]] FileOutcome seal_trace(const std::string& path);

/// Stores in a lone image which signal killed its process (FileHeader::end_signal).
[[nodiscard]] FileOutcome store_end_signal(const std::string& path, std::uint32_t end_signal);

/// Seals the images of a file and stores chunks after those named, in place of what
/// was stored there with the same types; chunks of other types stay. Fails for a trace
/// that its process still writes, and while another geiger changes the file.
[[nodiscard]] FileOutcome store_chunks(const std::string& path,
                                       std::span<const ImageChunks> images);

/// Writes all images of `files`, in order, into one new file of mode 0600, sealed and with their
/// chunks. An image that its process still writes goes in as it is at that instant. Files that hold
/// no readable image are left out: the first of their faults is returned though the output was
/// written with the others; with nothing to write, no output appears. Traces that were never begun
/// are not faults; the first image gets a chunk with the names in `unbegun`, so that the output
/// still lists them. An existing output is an error unless `replace`.
[[nodiscard]] FileOutcome pack_images(std::span<const std::string> files, const std::string& output,
                                      bool replace, const std::vector<Unbegun>& unbegun = {});

}  // namespace geiger::ingest
