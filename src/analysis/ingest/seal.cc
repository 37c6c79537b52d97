#include "analysis/ingest/seal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/files.h"
#include "analysis/ingest/payload.h"
#include "base/unique_fd.h"

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

namespace {

using trace::ChunkHeader;
using trace::FileHeader;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// What forbids sealing an image.
FileOutcome check_sealable(const InputFile& file, const Image& image) {
  if (image.extent().records_end < trace::kRecordsOffset) {
    return trace_fault(
        file.path(), image.offset(),
        {image.extent().records_end, trace::Fault::kCut, image.extent().promised_end});
  }
  if (!is_being_written(file, image)) return {};
  return Error{file.path(), std::nullopt,
               fmt::format("process {} is still writing this trace", image.pid())};
}

/// The images of a file, as far as they can be read: at least one, or an error.
struct ImageList {
  std::vector<Image> images;
  FileOutcome read;
};

ImageList images_of(const InputFile& file) {
  ImageList list;
  std::uint64_t offset = 0;
  while (offset < file.size() || offset == 0) {
    Image image;
    list.read = image.read(file, offset, static_cast<std::uint32_t>(list.images.size()));
    if (!list.read.has_value()) return list;
    offset = image.end();
    list.images.push_back(image);
  }
  return list;
}

/// Takes back the mode that a supervisor which was killed left behind.
bool was_guarded(const std::string& path) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
  struct stat status {};
  return file.is_open() && ::fstat(file.get(), &status) == 0 &&
         (status.st_mode & 0777) == trace::kGuardedFileMode &&
         ::fchmod(file.get(), trace::kFileMode) == 0;
}

/// Whether the file ends here, without storage that was allocated ahead.
bool is_cut(const struct stat& status, std::uint64_t end) {
  constexpr std::uint64_t kStatUnit = 512;
  const auto block = static_cast<std::uint64_t>(status.st_blksize);
  const auto stored = static_cast<std::uint64_t>(status.st_blocks) * kStatUnit;
  return static_cast<std::uint64_t>(status.st_size) == end && stored <= end + block;
}

/// A file with one image, changed in place.
class LoneImage {
 public:
  explicit LoneImage(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] FileOutcome open() {
    const auto open_file = [&] {
      return base::UniqueFd(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY));
    };
    file_ = open_file();
    if (!file_.is_open() && errno == EACCES && was_guarded(path_)) file_ = open_file();
    if (!file_.is_open()) return system_error(path_, "cannot be opened for writing");
    if (::flock(file_.get(), LOCK_EX | LOCK_NB) == 0) return {};
    return system_error(path_, "is being changed by another geiger");
  }

  /// Ends the image after its records. Until `image_bytes` is set again, readers
  /// take a missing or incomplete chunk for work in progress.
  [[nodiscard]] FileOutcome seal(const Image& image) {
    const std::uint64_t end = image.extent().records_end;
    GEIGER_TRY(put(offsetof(FileHeader, image_bytes), std::uint64_t{0}));
    GEIGER_TRY(put(offsetof(FileHeader, sealed_end), end));
    // Even without a change of size this waits for the disk to have written the pages.
    struct stat status {};
    if (::fstat(file_.get(), &status) == 0 && is_cut(status, end)) return {};
    if (::ftruncate(file_.get(), static_cast<off_t>(end)) == 0) return {};
    return system_error(path_, "cannot be cut to size");
  }

  /// Appends chunks at `end`, the header of the first one last, and states the size of
  /// the image.
  [[nodiscard]] FileOutcome append(std::uint64_t end, std::string_view chunk) {
    GEIGER_TRY(put(offsetof(FileHeader, image_bytes), std::uint64_t{0}));
    const std::size_t body = std::min(chunk.size(), sizeof(ChunkHeader));
    GEIGER_TRY(write(end + body, chunk.substr(body)));
    GEIGER_TRY(write(end, chunk.substr(0, body)));
    return put(offsetof(FileHeader, image_bytes), end + chunk.size());
  }

  /// Writes a field of the header.
  template <typename Value>
  [[nodiscard]] FileOutcome put(std::uint64_t offset, Value value) {
    return write(offset, {reinterpret_cast<const char*>(&value), sizeof value});
  }

 private:
  [[nodiscard]] FileOutcome write(std::uint64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error(path_, "cannot be written");
      bytes.remove_prefix(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
    return {};
  }

  std::string path_;
  base::UniqueFd file_;
};

/// The encoded chunks of an image, one after the other; nullptr gives none.
std::string encoded(const ImageChunks* own) {
  std::string bytes;
  if (own == nullptr) return bytes;
  for (const ChunkContents& chunk : own->chunks) bytes += encode_chunk(chunk.type, chunk.payload);
  return bytes;
}

const ImageChunks* find_own(std::span<const ImageChunks> all, const Image& image) {
  const auto own = std::ranges::find(all, image.index(), &ImageChunks::image);
  return own == all.end() ? nullptr : &*own;
}

/// The chunks of an image that those of `own` do not replace. None where something
/// about them is wrong.
std::vector<ChunkPlace> kept_chunks(const InputFile& file, const Image& image,
                                    const ImageChunks* own) {
  if (image.header().sealed_end != image.extent().records_end) return {};
  Chunks chunks = read_chunks(file, image);
  if (chunks.error) return {};
  if (own == nullptr) return std::move(chunks.places);
  std::erase_if(chunks.places, [&](const ChunkPlace& place) {
    return std::ranges::find(own->chunks, place.type, &ChunkContents::type) != own->chunks.end();
  });
  return std::move(chunks.places);
}

/// Whether the image is finished and has chunks, none of the types of `own`.
bool can_add(const InputFile& file, const Image& image, const ImageChunks& own) {
  const Chunks chunks = read_chunks(file, image);
  return !chunks.error && !chunks.is_unfinished && !chunks.places.empty() &&
         image.extent().size % 8 == 0 &&
         kept_chunks(file, image, &own).size() == chunks.places.size();
}

/// Copies images into a new file, sealed.
class ImageCopier {
 public:
  explicit ImageCopier(OutputFile& output) : output_(output), buffer_(std::size_t{1} << 16) {}

  /// `own`: chunks to store with the image's other ones; may be nullptr.
  [[nodiscard]] FileOutcome copy(const InputFile& file, const Image& image,
                                 const ImageChunks* own) {
    const std::uint64_t end = image.extent().records_end;
    const std::vector<ChunkPlace> kept = kept_chunks(file, image, own);
    const std::string added = encoded(own);
    std::uint64_t size = padded(end) + added.size();
    for (const ChunkPlace& place : kept) size += padded(bytes_there(place, image));
    GEIGER_TRY(copy_header(image, end, size));
    GEIGER_TRY(copy_range(file, image, trace::kControlOffset, end));
    for (const ChunkPlace& place : kept) {
      const std::uint64_t to = place.offset + bytes_there(place, image);
      GEIGER_TRY(copy_range(file, image, place.offset, to));
    }
    return output_.write(bytes_of(added));
  }

 private:
  static std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }

  /// The last chunk's padding may be missing.
  static std::uint64_t bytes_there(const ChunkPlace& place, const Image& image) {
    return std::min(place.bytes, image.extent().size - place.offset);
  }

  [[nodiscard]] FileOutcome copy_header(const Image& image, std::uint64_t sealed_end,
                                        std::uint64_t size) {
    std::vector<std::byte> page(image.page().begin(), image.page().end());
    std::memcpy(&page[offsetof(FileHeader, sealed_end)], &sealed_end, sizeof sealed_end);
    std::memcpy(&page[offsetof(FileHeader, image_bytes)], &size, sizeof size);
    return output_.write(page);
  }

  /// Followed by zeros up to a multiple of 8 bytes.
  [[nodiscard]] FileOutcome copy_range(const InputFile& file, const Image& image,
                                       std::uint64_t from, std::uint64_t to) {
    const std::uint64_t missing = padded(to) - to;
    while (from < to) {
      const auto part =
          std::span(buffer_).first(std::min<std::uint64_t>(buffer_.size(), to - from));
      if (file.read_at(image.offset() + from, part) != part.size()) {
        return Error{file.path(), image.offset() + from, "cannot be read to its end"};
      }
      GEIGER_TRY(output_.write(part));
      from += part.size();
    }
    constexpr std::byte kPadding[8] = {};
    return output_.write(std::span(kPadding).first(missing));
  }

  OutputFile& output_;
  std::vector<std::byte> buffer_;
};

/// `is_added`: after the chunks that are there, else in their place.
FileOutcome store_in_place(const std::string& path, std::string_view chunks, bool is_added) {
  LoneImage lone(path);
  GEIGER_TRY(lone.open());
  // Read again under the lock.
  InputFile file;
  GEIGER_TRY(file.open(path));
  Image image;
  GEIGER_TRY(image.read(file, 0, 0));
  GEIGER_TRY(check_sealable(file, image));
  if (is_added) return lone.append(image.extent().size, chunks);
  GEIGER_TRY(lone.seal(image));
  return lone.append(image.extent().records_end, chunks);
}

FileOutcome store_beside(const InputFile& file, const std::vector<Image>& images,
                         std::span<const ImageChunks> chunks) {
  OutputFile output;
  GEIGER_TRY(output.create(file.path(), file.mode()));
  ImageCopier copier(output);
  for (const Image& image : images) {
    GEIGER_TRY(copier.copy(file, image, find_own(chunks, image)));
  }
  return output.commit(true);
}

}  // namespace

FileOutcome seal_trace(const std::string& path) {
  InputFile file;
  GEIGER_TRY(file.open(path));
  Image image;
  GEIGER_TRY(image.read(file, 0, 0));
  if (image.extent().is_sealed) return {};
  return store_in_place(path, {}, false);
}

FileOutcome store_end_signal(const std::string& path, std::uint32_t end_signal) {
  LoneImage lone(path);
  GEIGER_TRY(lone.open());
  return lone.put(offsetof(FileHeader, end_signal), end_signal);
}

FileOutcome store_chunks(const std::string& path, std::span<const ImageChunks> images) {
  InputFile file;
  GEIGER_TRY(file.open(path));
  const ImageList list = images_of(file);
  GEIGER_TRY(list.read);
  const ImageChunks* first = find_own(images, list.images.front());
  if (list.images.size() == 1 && first == nullptr) return seal_trace(path);
  if (list.images.size() == 1 && can_add(file, list.images.front(), *first)) {
    return store_in_place(path, encoded(first), true);
  }
  // In place only where a kill between two writes cannot lose what is to stay.
  if (list.images.size() == 1 && kept_chunks(file, list.images.front(), first).empty()) {
    return store_in_place(path, encoded(first), false);
  }
  for (const Image& image : list.images) {
    GEIGER_TRY(check_sealable(file, image));
  }
  return store_beside(file, list.images, images);
}

FileOutcome pack_images(std::span<const std::string> files, const std::string& output, bool replace,
                        const std::vector<Unbegun>& unbegun) {
  constexpr unsigned kPrivate = 0600;
  ImageChunks told;
  if (!unbegun.empty()) told.chunks = {{trace::ChunkType::kUnbegun, encode_unbegun(unbegun)}};
  OutputFile packed;
  GEIGER_TRY(packed.create(output, kPrivate));
  ImageCopier copier(packed);
  FileOutcome first_fault;
  bool is_empty = true;
  for (const std::string& path : files) {
    InputFile file;
    ImageList list;
    list.read = file.open(path);
    if (list.read.has_value()) {
      if (was_never_begun(file)) continue;
      list = images_of(file);
    }
    for (const Image& image : list.images) {
      const ImageChunks* own = is_empty && !unbegun.empty() ? &told : nullptr;
      GEIGER_TRY(copier.copy(file, image, own));
      is_empty = false;
    }
    if (first_fault.has_value()) first_fault = list.read;
  }
  if (is_empty) {
    GEIGER_TRY(first_fault);
    return Error{output, std::nullopt, "nothing to pack"};
  }
  GEIGER_TRY(packed.commit(replace));
  return first_fault;
}

}  // namespace geiger::ingest
