#include "analysis/ingest/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/ingest/decode/image.h"
#include "base/text.h"
#include "trace/format.h"

namespace geiger::ingest {

namespace {

/// In place of the number of a trace, and why.
struct AbsenceWords {
  std::string_view name, why;
};
constexpr std::array<AbsenceWords, 3> kAbsences{
    {{"environment",
      "it was started with an environment without LD_PRELOAD (env -i, sudo, a service manager)"},
     {"static", "it is linked statically (docs/guide/static.md)"},
     {"ignored", "its loader ignored LD_PRELOAD (privileged, or of another architecture)"}}};

constexpr char kKilled = 'k';
constexpr char kUntold = '-';

/// Whether there are only zeros, or no bytes.
bool is_blank(const InputFile& file, std::uint64_t offset) {
  std::array<std::byte, 8> word{};
  static_cast<void>(file.read_at(offset, word));  // What is not there is blank.
  return std::ranges::all_of(word, [](std::byte byte) { return byte == std::byte{0}; });
}

/// Cuts what follows the last dot off; nothing if there is no dot.
std::optional<std::string_view> cut_last(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view last = text.substr(dot + 1);
  text = text.substr(0, dot);
  return last;
}

}  // namespace

std::optional<NamedProcess> process_named(std::string_view path) {
  std::string_view program = base::file_name_of(path);
  const auto suffix = cut_last(program);
  const auto number = cut_last(program);
  const auto digits = cut_last(program);
  if (!suffix || !number || !digits) return std::nullopt;
  const auto pid = base::number_in<pid_t>(*digits);
  if (!pid || *pid <= 0) return std::nullopt;
  return NamedProcess{std::string(program), *pid};
}

std::string name_of_absent(std::string_view program, pid_t pid, Absence absence) {
  return fmt::format("{}.{}.{}.geiger", program, pid,
                     kAbsences[static_cast<std::size_t>(absence)].name);
}

std::string Unbegun::text() const {
  const auto named = process_named(name);
  std::string_view rest = name;
  static_cast<void>(cut_last(rest));
  const auto* const absence =
      std::ranges::find(kAbsences, cut_last(rest).value_or(""), &AbsenceWords::name);
  std::string why =
      "the process was killed at start-up, or its trace file could not be created (disk full, "
      "ulimit -f), or was deleted or emptied";
  if (absence != kAbsences.end()) why = absence->why;
  return fmt::format("{}: {}; its allocations are not known",
                     named ? fmt::format("{}, pid {}", named->program, named->pid) : name,
                     is_killed ? "killed before its recording began" : "not recorded: " + why);
}

bool was_never_begun(const InputFile& file) {
  return is_blank(file, 0) && is_blank(file, trace::kRecordsOffset);
}

std::string encode_unbegun(const std::vector<Unbegun>& all) {
  std::string payload;
  for (const Unbegun& unbegun : all) {
    payload += unbegun.is_killed ? kKilled : kUntold;
    payload += unbegun.name;
    payload += '\0';
  }
  return payload;
}

std::vector<Unbegun> decode_unbegun(std::string_view payload) {
  std::vector<Unbegun> all;
  while (!payload.empty()) {
    const std::string_view entry = base::take_part(payload, '\0');
    if (entry.size() > 1) all.push_back({std::string(entry.substr(1)), entry.front() == kKilled});
  }
  return all;
}

namespace {

namespace fs = std::filesystem;

bool is_trace_name(const fs::path& path) { return path.extension() == ".geiger"; }

/// geiger-NAME.PID
bool is_run_name(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (!name.starts_with("geiger-") || dot == std::string::npos || dot + 1 == name.size()) {
    return false;
  }
  return name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
}

bool is_run(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (entry.is_directory(ignored)) {
    const std::string name = entry.path().filename();
    // Of a run that has not ended.
    const bool has_parts = name.ends_with(".geiger.parts") && !traces_in(entry.path()).error;
    return has_parts || is_run_name(name);
  }
  return entry.is_regular_file(ignored) && is_trace_name(entry.path());
}

/// When the image began to sample; the largest number if the file does not contain it.
Nanoseconds began_at(const std::string& path) {
  constexpr auto kNever = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds began = 0;
  std::ifstream file(path, std::ios::binary);
  file.seekg(offsetof(trace::FileHeader, start_realtime));
  file.read(reinterpret_cast<char*>(&began), sizeof began);
  return file && began != 0 ? began : kNever;
}

void sort_by_beginning(std::vector<std::string>& paths) {
  std::vector<std::pair<Nanoseconds, std::string>> dated;
  dated.reserve(paths.size());
  for (std::string& path : paths) dated.emplace_back(began_at(path), std::move(path));
  std::ranges::sort(dated);
  std::ranges::transform(dated, paths.begin(), [](auto& each) { return std::move(each.second); });
}

Error directory_error(const std::string& path, const std::error_code& code) {
  return {path, std::nullopt, "cannot be read: " + code.message()};
}

}  // namespace

TraceFiles traces_in(const std::string& path) {
  TraceFiles files;
  std::error_code code;
  if (!fs::is_directory(path, code)) {
    files.paths.push_back(path);
    return files;
  }
  for (fs::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code ignored;
    if (is_trace_name(entry->path()) && entry->is_regular_file(ignored)) {
      files.paths.push_back(entry->path());
    }
  }
  if (code) files.error = directory_error(path, code);
  if (!code && files.paths.empty()) files.error = Error{path, std::nullopt, "contains no traces"};
  sort_by_beginning(files.paths);
  return files;
}

std::optional<std::string> newest_run(const std::string& directory) {
  std::optional<std::tuple<fs::file_time_type, std::string>> newest;
  std::error_code code;
  for (fs::directory_iterator entry(directory, code), end; !code && entry != end;
       entry.increment(code)) {
    std::error_code gone;
    const fs::file_time_type time = entry->last_write_time(gone);
    if (gone || !is_run(*entry)) continue;
    const std::tuple candidate(time, entry->path().string());
    if (!newest || *newest < candidate) newest = candidate;
  }
  if (!newest) return std::nullopt;
  return std::get<1>(*newest);
}

namespace {

/// Files deleted between two listings are few; a disk that loses files all the time is not
/// waited for.
constexpr int kListings = 10;

constexpr std::size_t kOpenAhead = 64;

/// "DIR/PROGRAM.PID." of "DIR/PROGRAM.PID.N.geiger".
std::string_view stem_of(std::string_view path) {
  path = path.substr(0, path.rfind('.'));
  return path.substr(0, path.rfind('.') + 1);
}

}  // namespace

void ImageFinder::scan_file(const std::string& path, bool is_listed, Scan& scan) {
  InputFile file;
  if (const auto opened = file.open(path); !opened.has_value()) {
    scan.has_lost |= is_listed && opened.failure().is_missing;
    return scan.errors.push_back(opened.failure());
  }
  if (is_listed && was_never_begun(file)) {
    return scan.unbegun.push_back({path, file.size() > 0});
  }
  if (file.size() == 0) {
    return scan.errors.push_back(
        {path, std::nullopt,
         "empty: the disk was full, files were limited in size (ulimit -f), or the program was "
         "killed at start-up"});
  }
  std::uint64_t offset = 0;
  for (std::uint32_t index = 0; offset < file.size(); ++index) {
    Image image;
    if (const auto read = image.read(file, offset, index); !read.has_value()) {
      return scan.errors.push_back(read.failure());
    }
    const trace::FileHeader& header = image.header();
    const trace::State state = header.state.load(std::memory_order_relaxed);
    const bool is_going_on = state == trace::State::kStarting || state == trace::State::kSampling;
    Headed headed{{path, offset, index, header.segment, is_listed}, std::nullopt, is_going_on};
    headed.image.progress = {header.sealed_end != 0, header.tail.load(std::memory_order_relaxed)};
    if (header.image_start != 0) {
      headed.identity.emplace(
          header.pid, header.image_start, header.seed,
          std::string(header.executable, strnlen(header.executable, sizeof header.executable)));
    }
    scan.images.push_back(std::move(headed));
    offset = image.end();
  }
}

ImageFinder::Scan ImageFinder::scan(const std::string& path) {
  Scan scan;
  TraceFiles files = traces_in(path);
  if (files.error) scan.errors.push_back(std::move(*files.error));
  for (const std::string& file : files.paths) scan_file(file, file != path, scan);
  std::erase_if(scan.unbegun, [&](const Unbegun& unbegun) {
    return std::ranges::any_of(scan.images, [&](const Headed& headed) {
      return headed.is_going_on && stem_of(headed.image.path) == stem_of(unbegun.name);
    });
  });
  for (Unbegun& unbegun : scan.unbegun) unbegun.name.erase(0, unbegun.name.rfind('/') + 1);
  return scan;
}

void ImageFinder::find(const std::string& path) {
  Scan found = scan(path);
  for (int again = 1; found.has_lost && again < kListings; ++again) found = scan(path);
  std::ranges::move(found.images, std::back_inserter(images_));
  std::ranges::move(found.errors, std::back_inserter(errors_));
  std::ranges::move(found.unbegun, std::back_inserter(unbegun_));
}

std::vector<ProcessImage> ImageFinder::processes() {
  std::vector<ProcessImage> processes;
  std::map<Identity, std::size_t> places;
  for (Headed& headed : images_) {
    std::size_t place = processes.size();
    if (headed.identity) place = places.try_emplace(*headed.identity, place).first->second;
    if (place == processes.size()) processes.emplace_back();
    ProcessImage& own = processes[place];
    FoundImage& image = headed.image;
    const auto copy = std::ranges::find(own, image.segment, &FoundImage::segment);
    if (copy == own.end()) {
      own.push_back(std::move(image));
      continue;
    }
    if (copy->progress < image.progress) std::swap(*copy, image);
    left_out_.push_back(
        fmt::format("{}: left out: {} has all of it, of the same process", image.path, copy->path));
  }
  images_.clear();
  for (ProcessImage& images : processes) std::ranges::sort(images, {}, &FoundImage::segment);
  return processes;
}

const FoundImage* SegmentFiles::next() {
  for (; opened_ < std::min(images_.size(), given_ + kOpenAhead); ++opened_) {
    Opened& opened = ahead_[opened_];
    opened.file = std::make_unique<InputFile>();
    opened.outcome = opened.file->open(images_[opened_].path);
  }
  if (given_ == images_.size()) return nullptr;
  current_ = std::move(ahead_.extract(given_).mapped());
  return &images_[given_++];
}

}  // namespace geiger::ingest
