#include "analysis/ingest/ingest.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/ingest/chunk.h"
#include "analysis/ingest/image.h"
#include "analysis/ingest/image_decoder.h"
#include "analysis/ingest/input_file.h"
#include "analysis/ingest/interner.h"
#include "analysis/ingest/observation_chunk.h"
#include "analysis/ingest/runs.h"

namespace geiger::ingest {
namespace {

/// Half a second-level cache: the copy is decoded while it is still near.
constexpr std::size_t kWindowBytes = std::size_t{512} << 10;
static_assert(kWindowBytes / 8 > trace::kMaxRecordWords);

/// A live writer fills a hole within microseconds; one that was stopped or
/// killed never does. So few second looks suffice.
constexpr int kSecondLooks = 1000;

/// Feeds the records of one image to a decoder.
class ImageReader {
 public:
  ImageReader(const InputFile& file, const Image& image, bool is_open)
      : file_(file),
        image_(image),
        reader_(image.extent()),
        window_(kWindowBytes / 8),
        looks_left_(is_open ? kSecondLooks : 0) {}

  void run(ImageDecoder& decoder) {
    while (!reader_.is_done()) {
      reader_.feed(load(reader_.position(), std::as_writable_bytes(std::span(window_))));
      drain(decoder);
    }
  }

  [[nodiscard]] const trace::RecordReader& reader() const { return reader_; }

 private:
  [[nodiscard]] std::span<const std::byte> load(std::uint64_t offset,
                                                std::span<std::byte> into) const {
    return into.first(file_.read_at(image_.offset() + offset, into));
  }

  void drain(ImageDecoder& decoder) {
    for (auto step = reader_.next(); step != trace::Step::kWindow; step = reader_.next()) {
      if (step == trace::Step::kRecord) {
        decoder.decode(reader_.record());
      } else if (step == trace::Step::kHole && looks_left_ > 0 && was_filled(reader_.hole())) {
        --looks_left_;
        reader_.retry_hole();
        return;
      }
    }
  }

  /// Whether a live writer has meanwhile written into what was read as zero.
  [[nodiscard]] bool was_filled(const trace::Hole& hole) const {
    std::vector<std::byte> again(std::min<std::uint64_t>(hole.bytes, kWindowBytes));
    const auto bytes = load(hole.offset, again);
    return std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; });
  }

  const InputFile& file_;
  const Image& image_;
  trace::RecordReader reader_;
  std::vector<std::uint64_t> window_;
  int looks_left_;
};

/// Reads paths one after another into one Ingested.
class Ingestion {
 public:
  explicit Ingestion(const Options& options) : options_(options), interner_(result_.recording) {}

  void read_path(const std::string& path) {
    TraceFiles files = traces_in(path);
    if (files.error) note(*files.error);
    for (const std::string& file : files.paths) read_file(file);
  }

  [[nodiscard]] Ingested finish() { return std::move(result_); }

 private:
  void note(const Error& error) {
    warn(error);
    result_.damaged = true;
  }

  void warn(const Error& error) { result_.recording.warnings.push_back(error.text()); }

  void take_observations(const InputFile& file, const std::string& payload,
                         const ImageDecoder& decoder) {
    auto decoded =
        decode_observations(payload, [&](trace::Ref ref) { return decoder.sample_of(ref); });
    if (!decoded) {
      return warn({file.path(), std::nullopt, "the stored observations cannot be read"});
    }
    decoded->process = decoder.process();
    result_.recording.observations.push_back(std::move(*decoded));
  }

  void read_file(const std::string& path) {
    InputFile file;
    if (const auto error = file.open(path)) return note(*error);
    if (file.size() == 0) {
      return note(
          {path, std::nullopt, "empty: the disk was full or the program was killed at its start"});
    }
    std::uint64_t offset = 0;
    for (std::uint32_t index = 0; offset < file.size(); ++index) {
      Image image;
      if (const auto error = image.read(file, offset, index)) return note(*error);
      read_image(file, image);
      offset = image.end();
    }
  }

  void read_image(const InputFile& file, const Image& image) {
    const bool is_open = is_being_written(file, image);
    std::vector<std::string> observed;
    if (is_open && options_.observe) {
      observed.push_back(options_.observe(file.path(), image.header().pid));
    }
    ImageDecoder decoder(result_.recording, interner_, image, file.path());
    ImageReader records(file, image, is_open);
    records.run(decoder);
    decoder.finish(records.reader(), is_open);
    result_.places.push_back({file.path(), image.index()});
    if (records.reader().has_failed()) {
      Error error = trace_fault(file.path(), image.offset(), records.reader().error());
      error.reason += fmt::format("; {} records before it are used", records.reader().committed());
      note(error);
    }
    if (!observed.empty()) take_observations(file, observed.back(), decoder);
    if (options_.read_chunks) take_chunks(file, image, decoder);
  }

  void take_chunks(const InputFile& file, const Image& image, const ImageDecoder& decoder) {
    Chunks chunks = read_chunks(file, image);
    for (std::string& payload : chunks.symbols) {
      result_.symbols.push_back({decoder.process(), std::move(payload)});
    }
    if (chunks.observations_error) warn(*chunks.observations_error);
    if (!chunks.observations.empty()) take_observations(file, chunks.observations.back(), decoder);
    if (chunks.error) note(*chunks.error);
    if (!chunks.is_unfinished) return;
    result_.recording.warnings.push_back(
        file.path() + ": storing its symbols was interrupted; geiger symbolize does it again");
  }

  const Options& options_;
  Ingested result_;
  Interner interner_;
};

}  // namespace

Ingested read_recording(std::span<const std::string> paths, const Options& options) {
  Ingestion ingestion(options);
  for (const std::string& path : paths) ingestion.read_path(path);
  return ingestion.finish();
}

}  // namespace geiger::ingest
