// The templates of report pages, which web/ builds: where they lie beside this executable.
#pragma once

#include <string>

#include "base/outcome.h"

namespace geiger::live {

/// The text of ../share/geiger/NAME as seen from the executable. Fails with what to do where it
/// was not built.
[[nodiscard]] base::Outcome<std::string> read_template(const std::string& name);

}  // namespace geiger::live
