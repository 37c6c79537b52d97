#include "analysis/profile/frames/source_line.h"

#include <fmt/format.h>

#include "analysis/profile/labels.h"

namespace geiger::profile {

SourceLine source_line_of(const Recording& recording, std::uint32_t frame) {
  if (frame == kNone) return {};
  return {recording.frames[frame].file, recording.frames[frame].line, 0};
}

std::string text_of(const SourceLine& where) {
  if (where.file.empty()) return "";
  std::string text(place_name_of(where.file));
  if (where.line != 0) text += fmt::format(":{}", where.line);
  if (where.others != 0) text += fmt::format(" +{}", where.others);
  return text;
}

}  // namespace geiger::profile
