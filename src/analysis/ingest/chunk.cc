#include "analysis/ingest/chunk.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "analysis/ingest/zstd_frame.h"

namespace geiger::ingest {
namespace {

using trace::ChunkHeader;

constexpr int kLevel = 6;

std::uint32_t checksum(std::string_view bytes) {
  const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
  return static_cast<std::uint32_t>(::crc32_z(0, data, bytes.size()));
}

constexpr std::uint64_t kNeverTooLarge = std::uint64_t{1} << 20;

/// What no reader would believe.
bool is_bomb(std::uint64_t raw_bytes, std::uint64_t stored_bytes) {
  return raw_bytes > std::max(kNeverTooLarge, kMaxExpansion * stored_bytes);
}

/// Empty when the compressor refuses, does not help, or helps beyond belief.
std::string compress(std::string_view payload) {
  std::string packed = zstd_frame_of(payload, kLevel);
  if (packed.size() >= payload.size() || is_bomb(payload.size(), packed.size())) return {};
  return packed;
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }

/// Fails where a chunk's header claims what cannot be.
base::Outcome<void> check_header(const ChunkHeader& header, std::uint64_t room) {
  if (std::memcmp(header.magic, trace::kChunkMagic, sizeof header.magic) != 0) {
    return base::Failure{"no chunk where one should start"};
  }
  if (header.stored_bytes > room) {
    return base::Failure{"a chunk that runs past the end of its image"};
  }
  if (header.raw_bytes > kMaxChunkBytes || header.stored_bytes > kMaxChunkBytes) {
    return base::Failure{"a chunk larger than the maximum"};
  }
  if (is_bomb(header.raw_bytes, header.stored_bytes)) {
    return base::Failure{"a chunk that would unpack to many times its size"};
  }
  return {};
}

bool is_blank(const ChunkHeader& header) {
  constexpr char kNothing[sizeof header.magic] = {};
  return std::memcmp(header.magic, kNothing, sizeof kNothing) == 0;
}

/// Walks the chunks; stops at the first fault.
class ChunkWalk {
 public:
  ChunkWalk(const InputFile& file, const Image& image, Chunks& chunks)
      : file_(file), image_(image), chunks_(chunks), at_(image.header().sealed_end) {}

  base::Outcome<void> run() {
    while (at_ + sizeof(ChunkHeader) <= image_.extent().size) {
      ChunkHeader header{};
      if (!load(at_, &header, sizeof header)) return base::Failure{"a chunk is cut short"};
      // Writers store a chunk's header last.
      if (is_blank(header) && image_.header().image_bytes == 0) return base::Failure{"unfinished"};
      GEIGER_TRY(check_header(header, image_.extent().size - at_ - sizeof(ChunkHeader)));
      GEIGER_TRY(take(header));
      const std::uint64_t bytes = sizeof(ChunkHeader) + padded(header.stored_bytes);
      chunks_.places.push_back({header.type, at_, bytes});
      at_ += bytes;
    }
    return {};
  }

  [[nodiscard]] std::uint64_t at() const { return at_; }

 private:
  [[nodiscard]] bool load(std::uint64_t offset, void* into, std::size_t size) const {
    const std::span buffer(static_cast<std::byte*>(into), size);
    return file_.read_at(image_.offset() + offset, buffer) == size;
  }

  base::Outcome<void> take(const ChunkHeader& header) {
    std::vector<std::string>* payloads = payloads_of(header.type);
    if (payloads == nullptr) return {};
    std::string stored(header.stored_bytes, '\0');
    if (!load(at_ + sizeof header, stored.data(), stored.size())) {
      return base::Failure{"a chunk is cut short"};
    }
    auto payload = decode_chunk(header, stored);
    if (payload.has_value()) {
      payloads->push_back(std::move(payload.value()));
    } else if (header.type != trace::ChunkType::kObservations) {
      return payload.failure();
    } else {
      chunks_.observations_error = Error{file_.path(), image_.offset() + at_, payload.reason()};
    }
    return {};
  }

  /// Where payloads of a type go; nullptr if the type is not known.
  [[nodiscard]] std::vector<std::string>* payloads_of(trace::ChunkType type) {
    switch (type) {
      case trace::ChunkType::kSymbols:
        return &chunks_.symbols;
      case trace::ChunkType::kObservations:
        return &chunks_.observations;
      case trace::ChunkType::kUnbegun:
        return &chunks_.unbegun;
    }
    return nullptr;
  }

  const InputFile& file_;
  const Image& image_;
  Chunks& chunks_;
  std::uint64_t at_;
};

}  // namespace

std::string encode_chunk(trace::ChunkType type, std::string_view payload) {
  const std::string packed = compress(payload);
  const std::string_view stored = packed.empty() ? payload : std::string_view(packed);
  ChunkHeader header{};
  std::memcpy(header.magic, trace::kChunkMagic, sizeof header.magic);
  header.type = type;
  header.raw_bytes = payload.size();
  header.stored_bytes = stored.size();
  header.codec = packed.empty() ? trace::Codec::kNone : trace::Codec::kZstd;
  header.crc32 = checksum(stored);
  std::string chunk(sizeof header + padded(stored.size()), '\0');
  std::memcpy(chunk.data(), &header, sizeof header);
  std::ranges::copy(stored, chunk.begin() + sizeof header);
  return chunk;
}

base::Outcome<std::string> decode_chunk(const ChunkHeader& header, std::string_view stored) {
  if (checksum(stored) != header.crc32) return base::Failure{"a chunk whose checksum is wrong"};
  if (header.codec == trace::Codec::kNone && header.raw_bytes == stored.size()) {
    return std::string(stored);
  }
  std::optional<std::string> payload;
  if (header.codec == trace::Codec::kZstd) payload = from_zstd_frame(stored, header.raw_bytes);
  if (!payload) return base::Failure{"a chunk that cannot be unpacked"};
  return std::move(*payload);
}

Chunks read_chunks(const InputFile& file, const Image& image) {
  Chunks chunks;
  if (!image.extent().is_sealed) return chunks;
  ChunkWalk walk(file, image, chunks);
  const auto walked = walk.run();
  // An image whose size is not stated yet was being finished by another process.
  chunks.is_unfinished = !walked.has_value() && image.header().image_bytes == 0;
  if (!walked.has_value() && !chunks.is_unfinished) {
    chunks.error = Error{file.path(), image.offset() + walk.at(), walked.reason()};
  }
  return chunks;
}

}  // namespace geiger::ingest
