// Of how many objects of Python a recording has the type, and why not of the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/profile/recording.h"

namespace geiger::profile {

/// Samples of the domain for objects (vocabulary::is_python_object), of all processes.
struct PythonTyping {
  std::uint64_t samples = 0;
  std::uint64_t typed = 0;
  bool is_at_end = false;  ///< Only of those that were alive at the end.
  std::string fault;       ///< Why types could not be read of a process that has such samples.
};

/// Nothing where there are no such samples.
[[nodiscard]] std::optional<PythonTyping> python_typing(const Recording& recording, bool is_at_end);

}  // namespace geiger::profile
