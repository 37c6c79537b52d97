// Whose a frame is, and stacks as views show them: without plumbing, the frame to blame first.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/profile/frames/frame_rules.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/recording/recording.h"

namespace geiger::profile {

/// The roles of a recording's labels, by the rules that the recording is read by: each found when
/// it is asked for.
class LabelRoles {
 public:
  LabelRoles(const Recording& recording, const Labels& labels);
  [[nodiscard]] FrameRole operator[](std::uint32_t label) const;

 private:
  const Recording& recording_;
  const Labels& labels_;
  const FrameRules& rules_;
  const bool has_machine_;
  const std::set<std::string_view> own_texts_;
  std::set<std::string_view> executables_;
};

/// All of them, and what views make of them.
class FrameRoles {
 public:
  FrameRoles(const Recording& recording, const Labels& labels);

  [[nodiscard]] FrameRole operator[](std::uint32_t label) const { return roles_[label]; }
  /// Whether views leave frames of this label out, unless a stack has no others.
  [[nodiscard]] bool is_left_out(std::uint32_t label) const {
    return shows_plumbing_ ? roles_[label] == FrameRole::kHidden : is_plumbing(roles_[label]);
  }

  /// The frame to blame, as an index into the labels of a stack, leaf first and not empty: the
  /// first that is not left out. One without a name in its module's symbol table gives way to
  /// its next caller in the same module that has one: a static function of a stripped library to
  /// the function that users call. Where that is plumbing, so is the static function. A library
  /// gives way to the line of an interpreted program that called it.
  [[nodiscard]] std::size_t blamed(std::span<const std::uint32_t> path) const;

  /// The labels of a stack that views show, leaf first: those from the blamed one on that are
  /// not left out. Callers without a name give way too where one of their own callers has a name
  /// in the same module. Of a stack that never leaves the C and C++ runtime Labels::kRuntime
  /// remains.
  void keep_shown(std::vector<std::uint32_t>& path) const;
  /// As above, and keeps `frames`, which run parallel to the path.
  void keep_shown(std::vector<std::uint32_t>& path, std::vector<std::uint32_t>& frames) const;

  /// Whether a stack never leaves the C and C++ runtime.
  [[nodiscard]] bool is_of_runtime(std::span<const std::uint32_t> path) const;

 private:
  /// The function of an interpreted program that called the library's function at `at`, however
  /// many functions of libraries are between them; `at` if own native code did.
  [[nodiscard]] std::size_t source_caller(std::span<const std::uint32_t> path,
                                          std::size_t at) const;
  /// The first frame from `at` on that has a name, without leaving the module; else `at`.
  [[nodiscard]] std::size_t named_caller(std::span<const std::uint32_t> path, std::size_t at) const;
  /// Whether keep_shown() keeps each label of the path.
  [[nodiscard]] std::vector<bool> shown_of(std::span<const std::uint32_t> path) const;

  std::vector<FrameRole> roles_;        ///< By label.
  std::vector<std::uint32_t> modules_;  ///< By label; of those without a name: their module.
  std::vector<bool> is_unnamed_;        ///< By label.
  std::vector<bool> is_source_;         ///< By label: of an interpreted program.
  std::vector<bool> is_runtime_;        ///< By label: of the C and C++ runtime.
  bool shows_plumbing_ = false;
};

// Stacks as views show them: without what is left out, the frame to blame first, with lines.

/// The labels of a stack that are shown, the one to blame first, and its frame.
class ShownPath {
 public:
  explicit ShownPath(const Recording& recording)
      : recording_(recording), labels_(recording), roles_(recording, labels_) {}

  /// Makes the stack's path the current one.
  void of(std::uint32_t stack);

  [[nodiscard]] const Labels& labels() const { return labels_; }
  [[nodiscard]] const FrameRoles& roles() const { return roles_; }
  [[nodiscard]] const std::vector<std::uint32_t>& path() const { return path_; }
  [[nodiscard]] const std::vector<std::uint32_t>& frames() const { return frames_; }

 private:
  const Recording& recording_;
  const Labels labels_;
  const FrameRoles roles_;
  std::vector<std::uint32_t> path_, frames_;
};

/// The lines of the frames of each group (a function, a node of a tree), by their bytes.
class LinesOfGroups {
 public:
  explicit LinesOfGroups(const Recording& recording) : recording_(recording) {}

  void add(std::uint32_t group, std::uint32_t frame, double bytes);
  /// The one with most; between equals the first in its file.
  [[nodiscard]] SourceLine heaviest(std::uint32_t group) const;

 private:
  struct Line {
    std::uint32_t frame = kNone;
    double bytes = 0;
  };
  const Recording& recording_;
  std::map<std::uint32_t, std::map<std::pair<std::string_view, std::uint32_t>, Line>> lines_;
};

// Cuts stacks down to the frames that views show, for exports whose readers have no frame rules.

/// Takes from every stack what its rules leave out (FrameRoles::keep_shown). Stacks keep their
/// numbers, so two may become equal; types that came from frames are kept with the samples.
void keep_shown_frames(Recording& recording);

}  // namespace geiger::profile
