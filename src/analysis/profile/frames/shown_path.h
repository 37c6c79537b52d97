// Stacks as views show them: without what is left out, the frame to blame first, with lines.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/source_line.h"
#include "analysis/profile/labels.h"
#include "analysis/profile/recording.h"

namespace geiger::profile {

/// The labels of a stack that are shown, the one to blame first, and its frame.
class ShownPath {
 public:
  explicit ShownPath(const Recording& recording)
      : recording_(recording), labels_(recording), roles_(recording, labels_) {}

  /// Makes the stack's path the current one.
  void of(std::uint32_t stack);

  [[nodiscard]] const Labels& labels() const { return labels_; }
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

}  // namespace geiger::profile
