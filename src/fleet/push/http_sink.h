// A collector as a sink.
#pragma once

#include <memory>
#include <string>

#include "base/outcome.h"
#include "fleet/push/sink.h"
#include "http/client.h"

namespace geiger::fleet {

/// Whether a URL is one that a sink can be: https://, or http:// to the loopback interface, without
/// a name or password in it. Else why not.
[[nodiscard]] base::Outcome<void> check_url(const std::string& url);

/// What an answer means to a document.
[[nodiscard]] Delivery delivery_of(const http::Answer& answer);

/// Requires a URL that passed the check. The token is read again when it changes: for each
/// document.
[[nodiscard]] base::Outcome<std::unique_ptr<Sink>> open_http_sink(const std::string& url,
                                                                  const SinkOptions& options);

}  // namespace geiger::fleet
