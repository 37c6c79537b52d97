#include "analysis/ingest/seal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "analysis/ingest/chunk.h"
#include "analysis/ingest/image.h"
#include "analysis/ingest/input_file.h"
#include "analysis/ingest/output_file.h"

namespace geiger::ingest {
namespace {

using trace::ChunkHeader;
using trace::FileHeader;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// What forbids sealing an image.
std::optional<Error> check_sealable(const InputFile& file, const Image& image) {
  if (image.extent().records_end < trace::kRecordsOffset) {
    return trace_fault(
        file.path(), image.offset(),
        {image.extent().records_end, trace::Fault::kCut, image.extent().promised_end});
  }
  if (!is_being_written(file, image)) return std::nullopt;
  return Error{file.path(), std::nullopt,
               fmt::format("process {} still writes this trace", image.header().pid)};
}

/// The images of a file, as far as they can be read.
struct ImageList {
  std::vector<Image> images;
  std::optional<Error> error;
};

ImageList images_of(const InputFile& file) {
  ImageList list;
  std::uint64_t offset = 0;
  while (offset < file.size() || offset == 0) {
    Image image;
    list.error = image.read(file, offset, static_cast<std::uint32_t>(list.images.size()));
    if (list.error) return list;
    offset = image.end();
    list.images.push_back(image);
  }
  return list;
}

/// A file with one image, changed in place.
class LoneImage {
 public:
  explicit LoneImage(std::string path) : path_(std::move(path)) {}
  LoneImage(const LoneImage&) = delete;
  LoneImage& operator=(const LoneImage&) = delete;
  ~LoneImage() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] std::optional<Error> open() {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
    if (descriptor_ < 0) return system_error(path_, "cannot be opened for writing");
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return std::nullopt;
    return system_error(path_, "is being changed by another geiger");
  }

  /// Ends the image behind its records. Until `image_bytes` is set again, readers
  /// take a missing or incomplete chunk for work in progress.
  [[nodiscard]] std::optional<Error> seal(const Image& image) {
    const std::uint64_t end = image.extent().records_end;
    if (auto error = put(offsetof(FileHeader, image_bytes), 0)) return error;
    if (auto error = put(offsetof(FileHeader, sealed_end), end)) return error;
    if (::ftruncate(descriptor_, static_cast<off_t>(end)) == 0) return std::nullopt;
    return system_error(path_, "cannot be cut to size");
  }

  /// Appends a chunk, its header last, and states the size of the image.
  [[nodiscard]] std::optional<Error> append(const Image& image, std::string_view chunk) {
    const std::uint64_t end = image.extent().records_end;
    const std::size_t body = std::min(chunk.size(), sizeof(ChunkHeader));
    if (auto error = write(end + body, chunk.substr(body))) return error;
    if (auto error = write(end, chunk.substr(0, body))) return error;
    return put(offsetof(FileHeader, image_bytes), end + chunk.size());
  }

 private:
  [[nodiscard]] std::optional<Error> put(std::uint64_t offset, std::uint64_t value) {
    return write(offset, {reinterpret_cast<const char*>(&value), sizeof value});
  }

  [[nodiscard]] std::optional<Error> write(std::uint64_t offset, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return system_error(path_, "cannot be written");
      bytes.remove_prefix(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
    return std::nullopt;
  }

  std::string path_;
  int descriptor_ = -1;
};

/// Copies images into a new file, sealed.
class ImageCopier {
 public:
  explicit ImageCopier(OutputFile& output) : output_(output), buffer_(std::size_t{1} << 20) {}

  /// `chunk`: to follow instead of the image's own chunks; nullptr keeps those.
  [[nodiscard]] std::optional<Error> copy(const InputFile& file, const Image& image,
                                          const std::string* chunk) {
    const std::uint64_t end = image.extent().records_end;
    const std::uint64_t kept_end = chunk == nullptr ? chunks_end(file, image) : end;
    const std::uint64_t size = padded(kept_end) + (chunk == nullptr ? 0 : chunk->size());
    if (auto error = copy_header(image, end, size)) return error;
    if (auto error = copy_range(file, image, trace::kControlOffset, kept_end)) return error;
    constexpr std::byte kPadding[8] = {};
    if (auto error = output_.write(std::span(kPadding).first(padded(kept_end) - kept_end))) {
      return error;
    }
    return chunk == nullptr ? std::nullopt : output_.write(bytes_of(*chunk));
  }

 private:
  static std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }

  /// Where the chunks to keep end; the end of the records if there are none.
  static std::uint64_t chunks_end(const InputFile& file, const Image& image) {
    if (image.header().sealed_end != image.extent().records_end) return image.extent().records_end;
    const Chunks chunks = read_chunks(file, image);
    const bool is_whole = !chunks.error && !chunks.is_unfinished;
    return is_whole ? image.extent().size : image.extent().records_end;
  }

  [[nodiscard]] std::optional<Error> copy_header(const Image& image, std::uint64_t sealed_end,
                                                 std::uint64_t size) {
    std::vector<std::byte> page(image.page().begin(), image.page().end());
    std::memcpy(&page[offsetof(FileHeader, sealed_end)], &sealed_end, sizeof sealed_end);
    std::memcpy(&page[offsetof(FileHeader, image_bytes)], &size, sizeof size);
    return output_.write(page);
  }

  [[nodiscard]] std::optional<Error> copy_range(const InputFile& file, const Image& image,
                                                std::uint64_t from, std::uint64_t to) {
    while (from < to) {
      const auto part =
          std::span(buffer_).first(std::min<std::uint64_t>(buffer_.size(), to - from));
      if (file.read_at(image.offset() + from, part) != part.size()) {
        return Error{file.path(), image.offset() + from, "cannot be read to its end"};
      }
      if (auto error = output_.write(part)) return error;
      from += part.size();
    }
    return std::nullopt;
  }

  OutputFile& output_;
  std::vector<std::byte> buffer_;
};

std::optional<Error> store_in_place(const std::string& path, std::string_view chunk) {
  LoneImage lone(path);
  if (auto error = lone.open()) return error;
  // Read again under the lock.
  InputFile file;
  if (auto error = file.open(path)) return error;
  Image image;
  if (auto error = image.read(file, 0, 0)) return error;
  if (auto error = check_sealable(file, image)) return error;
  if (auto error = lone.seal(image)) return error;
  return lone.append(image, chunk);
}

std::optional<Error> store_beside(const InputFile& file, const std::vector<Image>& images,
                                  std::span<const ImageSymbols> symbols) {
  OutputFile output;
  if (auto error = output.create(file.path(), file.mode())) return error;
  ImageCopier copier(output);
  for (const Image& image : images) {
    const auto own = std::ranges::find(symbols, image.index(), &ImageSymbols::image);
    std::string chunk;
    if (own != symbols.end()) chunk = encode_chunk(trace::ChunkType::kSymbols, own->payload);
    if (auto error = copier.copy(file, image, own == symbols.end() ? nullptr : &chunk)) {
      return error;
    }
  }
  return output.commit(true);
}

}  // namespace

std::optional<Error> seal_trace(const std::string& path) {
  InputFile file;
  if (auto error = file.open(path)) return error;
  Image image;
  if (auto error = image.read(file, 0, 0)) return error;
  if (image.extent().is_sealed) return std::nullopt;
  return store_in_place(path, {});
}

std::optional<Error> store_symbols(const std::string& path, std::span<const ImageSymbols> symbols) {
  InputFile file;
  if (auto error = file.open(path)) return error;
  const ImageList list = images_of(file);
  if (list.error) return list.error;
  if (list.images.size() > 1) {
    for (const Image& image : list.images) {
      if (auto error = check_sealable(file, image)) return error;
    }
    return store_beside(file, list.images, symbols);
  }
  const auto own = std::ranges::find(symbols, 0U, &ImageSymbols::image);
  if (own == symbols.end()) return seal_trace(path);
  return store_in_place(path, encode_chunk(trace::ChunkType::kSymbols, own->payload));
}

std::optional<Error> pack_images(std::span<const std::string> files, const std::string& output,
                                 bool replace) {
  constexpr unsigned kPrivate = 0600;
  OutputFile packed;
  if (auto error = packed.create(output, kPrivate)) return error;
  ImageCopier copier(packed);
  std::optional<Error> first_fault;
  bool is_empty = true;
  for (const std::string& path : files) {
    InputFile file;
    ImageList list;
    list.error = file.open(path);
    if (!list.error) list = images_of(file);
    for (const Image& image : list.images) {
      if (auto error = copier.copy(file, image, nullptr)) return error;
      is_empty = false;
    }
    if (list.error && !first_fault) first_fault = list.error;
  }
  if (is_empty) return first_fault ? first_fault : Error{output, std::nullopt, "nothing to pack"};
  if (auto error = packed.commit(replace)) return error;
  return first_fault;
}

}  // namespace geiger::ingest
