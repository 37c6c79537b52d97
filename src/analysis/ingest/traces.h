// Which traces there are: finds them, also those that never began, and tells which images belong to
// which process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/ingest/files.h"

namespace geiger::ingest {

// Traces whose process ended, or ran out of room, before it could write a header: only the name of
// the file is known.

/// The process of a trace, from its name PROGRAM.PID.N.geiger.
struct NamedProcess {
  std::string program;
  pid_t pid = 0;
};

/// Nothing if the name has another form. Directories before it are not looked at.
[[nodiscard]] std::optional<NamedProcess> process_named(std::string_view path);

/// Why geiger's library was not in a process.
enum class Absence : std::uint8_t {
  kEnvironment,  ///< Its environment had no LD_PRELOAD.
  kStatic,       ///< It has no loader.
  kIgnored,      ///< Its loader ignored LD_PRELOAD: privileged, or of another architecture.
};

/// The name of an empty trace that says so: "env.17.static.geiger".
[[nodiscard]] std::string name_of_absent(std::string_view program, pid_t pid, Absence absence);

/// A process image that was never recorded.
struct Unbegun {
  std::string name;        ///< Of its trace, without directories.
  bool is_killed = false;  ///< The file was sized: there was room, so it was killed.

  /// One line: which process, why, and that nothing is known of it.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Unbegun&, const Unbegun&) = default;
};

/// Whether a file has neither a header nor a record, as its creation left it.
[[nodiscard]] bool was_never_begun(const InputFile& file);

/// As the payload of a chunk: per trace "k" (killed) or "-", its name, a 0 byte.
[[nodiscard]] std::string encode_unbegun(const std::vector<Unbegun>& all);
/// What can be read of it.
[[nodiscard]] std::vector<Unbegun> decode_unbegun(std::string_view payload);

// Finds traces: run directories and trace files.

/// The traces that a path names.
struct TraceFiles {
  std::vector<std::string> paths;
  std::optional<Error> error;  ///< Not found, not readable, or a directory without traces.
};

/// A file stands for itself, a directory for the *.geiger files in it in the order
/// in which their images began: the program that was run comes first. What has no
/// header comes last, by name.
[[nodiscard]] TraceFiles traces_in(const std::string& path);

/// The newest run in a directory: the last modified of its run directories
/// (geiger-NAME.PID, and *.geiger.parts of `run -o` that goes on) and trace files
/// (*.geiger); of equally new ones the last by name. Empty in a directory without runs.
[[nodiscard]] std::optional<std::string> newest_run(const std::string& directory);

// Which images belong to which process: the segments of one may lie in several files.

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
