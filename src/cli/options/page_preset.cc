#include "cli/options/page_preset.h"

#include <string>

namespace geiger::cli {

page::Preset preset_of(const query::FrameOptions& options) {
  page::Preset preset;
  preset.all_frames = options.shows_plumbing;
  for (const std::string& one : options.hidden) {
    preset.hide += (preset.hide.empty() ? "" : "|") + one;
  }
  return preset;
}

}  // namespace geiger::cli
