#include "analysis/ingest/ingest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/decode/image_decoder.h"
#include "analysis/ingest/decode/interner.h"
#include "analysis/ingest/decode/process_facts.h"
#include "analysis/ingest/files.h"
#include "analysis/ingest/observation_chunk.h"
#include "analysis/ingest/seal.h"
#include "analysis/ingest/traces.h"
#include "analysis/profile/lives/teardown.h"
#include "trace/reader.h"

namespace geiger::ingest {

namespace {

/// Half a second-level cache: the copy is decoded while it is still near.
constexpr std::size_t kWindowBytes = std::size_t{512} << 10;
static_assert(kWindowBytes / 8 > trace::kMaxRecordWords);

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
    for (const std::string& line : finder_.left_out()) result_.recording.warnings.push_back(line);
    total_ = bytes_of(processes);
    for (const ProcessImage& process : processes) read_process(process);
    for (const Unbegun& unbegun : finder_.unbegun()) add(unbegun);
    // A report on nothing would be none.
    if (result_.recording.processes.empty() && !result_.unbegun.empty()) result_.damaged = true;
  }

  [[nodiscard]] Ingested finish() {
    if (!options_.includes_finalization) profile::end_at_finalization(result_.recording);
    profile::name_holders(result_.recording);
    return std::move(result_);
  }

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
    take_types(decoded->types);
    auto& all = result_.recording.observations;
    const bool goes_on = !all.empty() && all.back().process == decoded->process;
    if (goes_on) return profile::append(all.back(), std::move(*decoded));
    all.push_back(std::move(*decoded));
  }

  /// A type that the program named itself stays.
  void take_types(profile::ObjectTypes& types) {
    std::vector<std::uint32_t> numbers;
    for (const std::string& name : types.names) numbers.push_back(interner_.type(name));
    for (const profile::SampleType& seen : types.samples) {
      profile::Sample& sample = result_.recording.samples[seen.sample];
      const bool is_asked = vocabulary::is_python_object(sample.entry_point);
      if (is_asked && sample.type == profile::kNone) sample.type = numbers[seen.type];
    }
    types.names.clear();
    types.samples.clear();
  }

  void read_process(const ProcessImage& process) {
    Inheritance inherited;
    SegmentFiles files(process);
    std::optional<Error> missing;
    while (const FoundImage* found = files.next()) {
      FileOutcome read = files.opened();
      Image image;
      if (read.has_value()) read = image.read(files.file(), found->offset, found->index);
      // Deleted by the rotation since it was found: the next one opens with all that counts.
      if (read.failure().is_missing && found->is_listed) {
        missing = read.failure();
      } else if (!read.has_value()) {
        note(read.failure());
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
      observed.push_back(options_.observe(file.path(), image.pid()));
    }
    const bool goes_on = inherited.process != profile::kNone;
    ImageDecoder decoder(result_.recording, interner_, image, file.path(), inherited);
    const trace::RecordReader reader = read_records(file, image, is_open, decoder);
    decoder.finish(reader, is_open);
    if (goes_on) result_.places.back().is_last = false;
    result_.places.push_back({file.path(), image.index(), decoder.process(), true});
    if (reader.has_failed()) {
      Error error = trace_fault(file.path(), image.offset(), reader.error());
      error.reason += fmt::format("; {} records before it are used", reader.committed());
      note(error);
    }
    for (const std::string& payload : decoder.observed()) {
      take_observations(file, payload, decoder);
    }
    if (options_.read_chunks) take_chunks(file, image, decoder);
    if (options_.observe_image) observed.push_back(options_.observe_image(file, image));
    if (!observed.empty() && !observed.back().empty()) {
      take_observations(file, observed.back(), decoder);
    }
  }

  /// What is not whole is passed over: the image is read once.
  trace::RecordReader read_records(const InputFile& file, const Image& image, bool is_open,
                                   ImageDecoder& decoder) {
    trace::RecordWalk walk(image.extent(), is_open);
    ImageWindows windows(file.descriptor(), image.offset(), kWindowBytes);
    const auto give_up = [](std::uint64_t) { return trace::Wait::kGiveUp; };
    for (auto progress = trace::Progress::kBehind; progress == trace::Progress::kBehind;) {
      const std::uint64_t from = walk.reader().position();
      progress = walk.run(windows, give_up, decoder, kWindowBytes);
      advance(walk.reader().position() - from);
    }
    return walk.reader();
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

namespace {

void thin(profile::Recording& recording, std::uint32_t process, std::uint32_t level) {
  if (recording.processes[process].thinning == level) return;
  recording.processes[process].thinning = level;
  mark_thinned_out(recording, process);
}

}  // namespace

std::optional<ImageIdentity> identity_of(const profile::Process& process) {
  if (process.image_start == 0) return std::nullopt;
  return ImageIdentity(process.pid, process.image_start, process.seed, process.executable);
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> match_images(profile::Recording& before,
                                                                  profile::Recording& after) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::map<ImageIdentity, std::uint32_t> later;
  for (std::uint32_t b = 0; b < after.processes.size(); ++b) {
    if (auto identity = identity_of(after.processes[b])) later.emplace(std::move(*identity), b);
  }
  for (std::uint32_t a = 0; a < before.processes.size(); ++a) {
    const auto identity = identity_of(before.processes[a]);
    const auto found = identity ? later.extract(*identity) : decltype(later)::node_type();
    if (found.empty()) continue;
    const std::uint32_t b = found.mapped();
    pairs.emplace_back(a, b);
    const std::uint32_t level = std::max(before.processes[a].thinning, after.processes[b].thinning);
    thin(before, a, level);
    thin(after, b, level);
  }
  return pairs;
}

}  // namespace geiger::ingest
