// --plumbing and --hide of verbs that make a page: the page's initial settings.
#pragma once

#include "analysis/page/page_data.h"
#include "query/frame_rules.h"

namespace geiger::cli {

/// Several expressions become one that matches what any of them does.
[[nodiscard]] page::Preset preset_of(const query::FrameOptions& options);

}  // namespace geiger::cli
