// Small files that people write: limits, suppressions.
#pragma once

#include <string>

#include "cli/outcome.h"

namespace geiger::cli {

/// The whole of a file of at most 1 MiB: nobody writes more, and a device would never end.
/// The reason of a failure names the file.
[[nodiscard]] Outcome<std::string> read_text_file(const std::string& path);

}  // namespace geiger::cli
