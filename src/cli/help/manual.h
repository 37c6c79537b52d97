// Manual pages in scdoc's language, made of the command tree.
#pragma once

#include <string>

#include "cli/help/command_tree.h"

namespace geiger::cli {

/// The page of one verb with its formats, or of geiger itself: NAME to EXIT STATUS. The
/// build puts hand-written sections after it (docs/man).
[[nodiscard]] std::string manual_page(const VerbFacts& verb, const std::string& version);

}  // namespace geiger::cli
