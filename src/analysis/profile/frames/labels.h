// What the frames of a recording are called, as numbers, and where in the source they are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/profile/frames/frame_rules.h"
#include "analysis/profile/recording/recording.h"
#include "base/text.h"

namespace geiger::profile {

// What the frames of a recording are called, as numbers: views group by them.

/// A function of a module, or a program point without a name.
struct Label {
  std::string name;
  std::uint32_t module = kNone;             ///< The first of its file (ModuleFiles).
  std::uint32_t frame_or_location = kNone;  ///< The first one with this label.
  bool is_location = false;

  /// Whether it is of a place in a program, and not a mark in place of one.
  [[nodiscard]] bool is_frame() const { return frame_or_location != kNone; }
  /// Whether it is only an address.
  [[nodiscard]] bool is_unnamed() const { return is_location || is_address_name(name); }
};

using base::file_name_of;
using base::place_name_of;

/// The process that a recording is mostly about: the one with the most samples, of equals the one
/// that started first. Requires a process.
[[nodiscard]] const Process& main_process(const Recording& recording);

/// What the user started: the name given to exec, of a link or a script too; where that is not
/// known, the executable's.
[[nodiscard]] std::string_view program_name(const Process& process);

/// The file of the allocator behind a process, "libmimalloc.so.2.0"; empty where it is the C
/// library's, or not known.
[[nodiscard]] std::string_view other_allocator(const Process& process);

/// "module+0x1234" of a location, "0x7f..." outside every module.
[[nodiscard]] std::string address_name(const Recording& recording, const Location& location);

/// The files that a recording's modules are of, and what these are called. Builds at one path are
/// one file, replaced by another version between two processes, unless a process ran several of
/// them: then they are files that took turns at a path, and have nothing in common. Releases of a
/// file (Module::release_of) are one, wherever they are.
class ModuleFiles {
 public:
  explicit ModuleFiles(const Recording& recording);

  /// The first module of the same file.
  [[nodiscard]] std::uint32_t first_of(std::uint32_t module) const { return first_[module]; }

  /// The file's name; of a program that was started by a link to it the link's: redis-server, not
  /// redis-check-rdb. Files of one name differ by their folders, "fast/_native.so", those of one
  /// path by the first digits of their build ids, "plugin.so@1f2e3d4c".
  [[nodiscard]] const std::string& name(std::uint32_t module) const {
    return names_[first_[module]];
  }

  /// For names of functions alone: " [fast/_native.so]" of a file that shares its name with others,
  /// else nothing.
  [[nodiscard]] std::string mark(std::uint32_t module) const;

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::string> names_;  ///< Of first modules.
  std::vector<bool> has_namesakes_;
};

class Labels {
 public:
  explicit Labels(const Recording& recording);

  /// Labels of a location, inlined callee first; never empty.
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t location) const;
  /// Beside these: places in Recording::frames, or kNone.
  [[nodiscard]] std::span<const std::uint32_t> frames_of(std::uint32_t location) const;
  /// Labels of a whole stack, leaf first, into `out`. [no stack] for kNone and
  /// for a stack without frames.
  void collect(const Recording& recording, std::uint32_t stack,
               std::vector<std::uint32_t>& out) const;

  /// These places as frames of the recording, which have files and lines: kNone where there is no
  /// frame.
  void collect_frames(const Recording& recording, std::uint32_t stack,
                      std::vector<std::uint32_t>& out) const;

  [[nodiscard]] std::string_view module_name(std::uint32_t module) const {
    return files_.name(module);
  }

  [[nodiscard]] const Label& operator[](std::uint32_t label) const { return labels_[label]; }
  [[nodiscard]] std::size_t size() const { return labels_.size(); }

  static constexpr std::uint32_t kNoStack = 0;
  static constexpr std::uint32_t kTruncated = 1;
  /// In place of a stack that never leaves the C and C++ runtime: libstdc++'s pool for exceptions.
  static constexpr std::uint32_t kRuntime = 2;

 private:
  std::vector<Label> labels_;
  std::vector<std::uint32_t> starts_;  ///< Per location, into ids_; one more at the end.
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> frames_;  ///< Beside ids_: into Recording::frames, or kNone.
  ModuleFiles files_;
};

/// The callers next to the leaf of a collected stack: "b < c < d". Empty for a leaf alone.
[[nodiscard]] std::string nearest_callers(const Labels& labels,
                                          std::span<const std::uint32_t> path);

// Where in the source a row of a view is.

/// A line of a source file, as debug information names it.
struct SourceLine {
  std::string file;                   ///< Empty: not known.
  std::uint32_t line = 0;             ///< 0 = not known.
  std::uint32_t others = 0;           ///< Further lines of the same row, which have less.
  std::uint32_t first = 0, last = 0;  ///< Of all of them; 0 = not known.

  /// Adds a further line of the same row.
  void add_other(std::string_view other_file, std::uint32_t other_line);
};

/// The source line of a frame; not known for kNone.
[[nodiscard]] SourceLine source_line_of(const Recording& recording, std::uint32_t frame);

/// "leaky.cc:11", "" where nothing is known. With others "leaky.cc:11-13" where the row has at
/// least half of the lines from the first to the last, else "leaky.cc:11 +2".
[[nodiscard]] std::string text_of(const SourceLine& where);

}  // namespace geiger::profile
