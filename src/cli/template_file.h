// The templates of report pages, which web/ builds: where they lie beside this executable.
#pragma once

#include <string>

#include "cli/outcome.h"

namespace geiger::cli {

/// The text of ../share/geiger/NAME as seen from the executable. Fails with what to do where it
/// was not built.
[[nodiscard]] Outcome<std::string> read_template(const std::string& name);

}  // namespace geiger::cli
