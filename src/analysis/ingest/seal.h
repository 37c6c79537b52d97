// Finishing traces whose processes are gone: sealing, storing chunks, packing.
//
// A trace that is sealed ends after its last record instead of at its capacity, and chunks may
// follow. Everything here keeps a file readable at any instant, also if geiger is killed: a lone
// image is changed in place in an order that leaves the old or the new contents valid, anything
// else is written to a new file and renamed. The order does not protect against a loss of power;
// the checksum of the chunk detects that. The records themselves are not synced either.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/ingest/error.h"
#include "analysis/ingest/unbegun.h"
#include "trace/format.h"

namespace geiger::ingest {

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
