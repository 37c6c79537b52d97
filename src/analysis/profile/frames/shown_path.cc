#include "analysis/profile/frames/shown_path.h"

namespace geiger::profile {

void ShownPath::of(std::uint32_t stack) {
  labels_.collect(recording_, stack, path_);
  labels_.collect_frames(recording_, stack, frames_);
  roles_.keep_shown(path_, frames_);
}

void LinesOfGroups::add(std::uint32_t group, std::uint32_t frame, double bytes) {
  if (frame == kNone || recording_.frames[frame].file.empty()) return;
  const Frame& known = recording_.frames[frame];
  Line& line = lines_[group][{known.file, known.line}];
  line.frame = frame;
  line.bytes += bytes;
}

SourceLine LinesOfGroups::heaviest(std::uint32_t group) const {
  const auto found = lines_.find(group);
  if (found == lines_.end()) return {};
  const Line* most = nullptr;
  for (const auto& [place, line] : found->second) {
    if (most == nullptr || line.bytes > most->bytes) most = &line;
  }
  SourceLine where = source_line_of(recording_, most->frame);
  where.others = static_cast<std::uint32_t>(found->second.size() - 1);
  return where;
}

}  // namespace geiger::profile
