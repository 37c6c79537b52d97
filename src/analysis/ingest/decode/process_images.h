// Which images belong to which process: the segments of one may lie in several files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/ingest/error.h"
#include "analysis/ingest/input_file.h"
#include "analysis/ingest/unbegun.h"

namespace geiger::ingest {

/// An image where it was when its header was read.
struct FoundImage {
  std::string path;
  std::uint64_t offset = 0;
  std::uint32_t index = 0;    ///< Position in the file.
  std::uint32_t segment = 0;  ///< Number.
  bool is_listed = false;     ///< Found in a directory, not named by the user.
  /// How far it was written: of two copies of an image, one with more has all of the other.
  std::pair<bool, std::uint64_t> progress =
      {};  ///< Whether it is sealed, and where its records end.
};

/// The images of one process image, by the numbers of their segments, which differ.
using ProcessImage = std::vector<FoundImage>;

/// Looks for images. While a run goes on, segments come and go: a directory is listed again
/// when a file is gone before its header could be read.
class ImageFinder {
 public:
  /// `path` names a trace file or a directory.
  void find(const std::string& path);

  /// In the order in which their first images were found. Of several copies of an image the one
  /// that was written furthest is in them.
  [[nodiscard]] std::vector<ProcessImage> processes();

  [[nodiscard]] const std::vector<Error>& errors() const { return errors_; }

  /// A line for each copy that processes() left out.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

  /// Processes of directories that left a file and nothing in it.
  [[nodiscard]] const std::vector<Unbegun>& unbegun() const { return unbegun_; }

 private:
  /// What images of one process image have in common: pid, beginning, seed, program.
  using Identity = std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::string>;
  struct Headed {
    FoundImage image;
    std::optional<Identity> identity;  ///< Of runtimes that number segments.
    bool is_going_on = false;          ///< Its end was not written.
  };
  struct Scan {
    std::vector<Headed> images;
    std::vector<Error> errors;
    /// But not the next segment of an image that goes on: it is about to get a header, or
    /// never will, and either way everything is in the files before it.
    std::vector<Unbegun> unbegun;
    bool has_lost = false;  ///< A file was gone.
  };

  static Scan scan(const std::string& path);
  static void scan_file(const std::string& path, bool is_listed, Scan& scan);

  std::vector<Headed> images_;
  std::vector<Error> errors_;
  std::vector<std::string> left_out_;
  std::vector<Unbegun> unbegun_;
};

/// Opens the files of a process one after another, some of them ahead, so that rotation
/// cannot delete what lies between those that were read.
class SegmentFiles {
 public:
  explicit SegmentFiles(const ProcessImage& images) : images_(images) {}

  /// The next image, its file open unless opened() failed; nullptr after the last.
  [[nodiscard]] const FoundImage* next();

  [[nodiscard]] const InputFile& file() const { return *current_.file; }
  [[nodiscard]] const FileOutcome& opened() const { return current_.outcome; }

 private:
  struct Opened {
    std::unique_ptr<InputFile> file;
    FileOutcome outcome;
  };

  const ProcessImage& images_;
  std::map<std::size_t, Opened> ahead_;
  std::size_t opened_ = 0;
  std::size_t given_ = 0;
  Opened current_;
};

}  // namespace geiger::ingest
