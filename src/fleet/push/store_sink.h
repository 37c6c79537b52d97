// A store, in a file or on a server, as a sink.
#pragma once

#include <memory>
#include <string>

#include "base/outcome.h"
#include "fleet/push/sink.h"

namespace geiger::fleet {

/// `url` names a store (open_store.h); a file is created if missing.
[[nodiscard]] base::Outcome<std::unique_ptr<Sink>> open_store_sink(const std::string& url,
                                                                   const SinkOptions& options);

}  // namespace geiger::fleet
