// `geiger doctor --machine`: whether geiger works on this machine, as one report to send back.
#pragma once

#include "base/outcome.h"

namespace geiger::cli {

/// Records this executable in loads of its own, and prints what came of it. The exit code is 1 if a
/// check failed.
[[nodiscard]] base::Outcome<int> report_machine();

}  // namespace geiger::cli
