#include "analysis/ingest/decode/process_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "analysis/ingest/decode/image.h"
#include "analysis/ingest/runs.h"

namespace geiger::ingest {
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
