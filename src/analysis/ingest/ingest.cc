#include "analysis/ingest/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "analysis/ingest/chunk.h"
#include "analysis/ingest/fates.h"
#include "analysis/ingest/image.h"
#include "analysis/ingest/image_decoder.h"
#include "analysis/ingest/input_file.h"
#include "analysis/ingest/interner.h"
#include "analysis/ingest/observation_chunk.h"
#include "analysis/ingest/process_images.h"

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
  using Advance = std::function<void(std::uint64_t bytes)>;

  ImageReader(const InputFile& file, const Image& image, bool is_open, Advance advance)
      : file_(file),
        image_(image),
        reader_(image.extent()),
        window_(kWindowBytes / 8),
        looks_left_(is_open ? kSecondLooks : 0),
        advance_(std::move(advance)) {}

  void run(ImageDecoder& decoder) {
    while (!reader_.is_done()) {
      const std::uint64_t from = reader_.position();
      reader_.feed(load(from, std::as_writable_bytes(std::span(window_))));
      // What was a hole at the last window's end may be written by now, and this window begin
      // inside a record.
      const trace::Hole& hole = reader_.hole();
      const bool is_in_hole = hole.bytes != 0 && hole.offset + hole.bytes == from;
      if (!is_in_hole || !looks_again_at(hole)) drain(decoder);
      advance_(reader_.position() - from);
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
      } else if (step == trace::Step::kHole && looks_again_at(reader_.hole())) {
        return;
      }
    }
  }

  /// Goes back to its start if a live writer has meanwhile written into what was read as zero.
  [[nodiscard]] bool looks_again_at(const trace::Hole& hole) {
    if (looks_left_ == 0 || !was_filled(hole)) return false;
    --looks_left_;
    reader_.retry_hole();
    return true;
  }

  /// The record that goes on behind the hole begins in its last window: none is larger.
  [[nodiscard]] bool was_filled(const trace::Hole& hole) const {
    std::vector<std::byte> again(std::min<std::uint64_t>(hole.bytes, kWindowBytes));
    const auto bytes = load(hole.offset + hole.bytes - again.size(), again);
    return std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; });
  }

  const InputFile& file_;
  const Image& image_;
  trace::RecordReader reader_;
  std::vector<std::uint64_t> window_;
  int looks_left_;
  Advance advance_;
};

/// Of the files that the images are in.
std::uint64_t bytes_of(std::span<const ProcessImage> processes) {
  std::set<std::string> paths;
  for (const ProcessImage& process : processes) {
    for (const FoundImage& image : process) paths.insert(image.path);
  }
  std::uint64_t bytes = 0;
  for (const std::string& path : paths) {
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    if (!failed) bytes += size;
  }
  return bytes;
}

/// Reads paths one after another into one Ingested.
class Ingestion {
 public:
  explicit Ingestion(const Options& options) : options_(options), interner_(result_.recording) {}

  void read_path(const std::string& path) { finder_.find(path); }

  /// Reads what was found.
  void read_all() {
    for (const Error& error : finder_.errors()) note(error);
    const std::vector<ProcessImage> processes = finder_.processes();
    total_ = bytes_of(processes);
    for (const ProcessImage& process : processes) read_process(process);
    for (const Unbegun& unbegun : finder_.unbegun()) add(unbegun);
    // A report on nothing would be none.
    if (result_.recording.processes.empty() && !result_.unbegun.empty()) result_.damaged = true;
  }

  [[nodiscard]] Ingested finish() { return std::move(result_); }

 private:
  void note(const Error& error) {
    warn(error);
    result_.damaged = true;
    result_.recording.is_damaged = true;
  }

  void add(const Unbegun& unbegun) {
    result_.recording.warnings.push_back(unbegun.text());
    ++result_.recording.unrecorded_processes;
    result_.unbegun.push_back(unbegun);
  }

  void advance(std::uint64_t bytes) {
    done_ += bytes;
    if (options_.progress) options_.progress(done_, std::max(done_, total_));
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
    auto& all = result_.recording.observations;
    const bool goes_on = !all.empty() && all.back().process == decoded->process;
    if (goes_on) return profile::append(all.back(), std::move(*decoded));
    all.push_back(std::move(*decoded));
  }

  void read_process(const ProcessImage& process) {
    Inheritance inherited;
    SegmentFiles files(process);
    std::optional<Error> missing;
    while (const FoundImage* found = files.next()) {
      std::optional<Error> error = files.error();
      Image image;
      if (!error) error = image.read(files.file(), found->offset, found->index);
      // Deleted by the rotation since it was found: the next one opens with all that counts.
      if (error && error->is_missing && found->is_listed) {
        missing = std::move(error);
      } else if (error) {
        note(*error);
      } else {
        read_image(files.file(), image, inherited);
      }
    }
    if (inherited.process == profile::kNone) {
      if (missing) note(*missing);
      return;
    }
    finish_process(inherited.process);
  }

  void finish_process(std::uint32_t index) {
    profile::Recording& recording = result_.recording;
    const profile::Process& process = recording.processes[index];
    mark_thinned_out(recording, index);
    for (const std::string& warning : faults_of(process)) recording.warnings.push_back(warning);
  }

  void read_image(const InputFile& file, const Image& image, Inheritance& inherited) {
    const bool is_open = is_being_written(file, image);
    std::vector<std::string> observed;
    if (is_open && options_.observe) {
      observed.push_back(options_.observe(file.path(), image.header().pid));
    }
    const bool goes_on = inherited.process != profile::kNone;
    ImageDecoder decoder(result_.recording, interner_, image, file.path(), inherited);
    ImageReader records(file, image, is_open, [this](std::uint64_t bytes) { advance(bytes); });
    records.run(decoder);
    decoder.finish(records.reader(), is_open);
    if (goes_on) result_.places.back().is_last = false;
    result_.places.push_back({file.path(), image.index(), decoder.process(), true});
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
    for (const std::string& payload : chunks.unbegun) {
      for (const Unbegun& unbegun : decode_unbegun(payload)) add(unbegun);
    }
    if (chunks.observations_error) warn(*chunks.observations_error);
    if (!chunks.observations.empty()) take_observations(file, chunks.observations.back(), decoder);
    if (chunks.error) note(*chunks.error);
    if (!chunks.is_unfinished) return;
    result_.recording.warnings.push_back(
        file.path() + ": storing its symbols was interrupted; geiger symbolize does it again");
  }

  const Options& options_;
  ImageFinder finder_;
  Ingested result_;
  Interner interner_;
  std::uint64_t done_ = 0, total_ = 0;  ///< Bytes.
};

}  // namespace

Ingested read_recording(std::span<const std::string> paths, const Options& options) {
  Ingestion ingestion(options);
  for (const std::string& path : paths) ingestion.read_path(path);
  ingestion.read_all();
  return ingestion.finish();
}

}  // namespace geiger::ingest
