// The options --plumbing (or --no-plumbing), --frames, --hide and --rules.
#pragma once

#include "query/frame_rules.h"

namespace CLI {
class App;
}

namespace geiger::cli {

void add_frame_options(CLI::App& verb, query::FrameOptions& options);
/// The frame options of a verb that shows all frames by default.
void add_all_frames_options(CLI::App& verb, query::FrameOptions& options);

}  // namespace geiger::cli
