// A store in a file as a sink.
#pragma once

#include <memory>
#include <string>

#include "base/outcome.h"
#include "fleet/push/sink.h"

namespace geiger::fleet {

/// Makes the store if there is none.
[[nodiscard]] base::Outcome<std::unique_ptr<Sink>> open_file_sink(const std::string& path,
                                                                  const SinkOptions& options);

}  // namespace geiger::fleet
