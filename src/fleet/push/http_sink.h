// A collector as a sink.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/outcome.h"
#include "fleet/push/sink.h"
#include "http/client.h"

namespace geiger::fleet {

/// Whether a URL is one that a sink can be: https://, or http:// to the loopback interface, without
/// a name or password in it. Else why not.
[[nodiscard]] base::Outcome<void> check_url(const std::string& url);

/// What an answer means to a document.
[[nodiscard]] Delivery delivery_of(const http::Answer& answer);

/// A client that sends the token of its file, if it has one, which is read again for each request.
class AuthorizedClient {
 public:
  /// Fails if the URL does not pass the check, or if the file has no token.
  [[nodiscard]] static base::Outcome<AuthorizedClient> open(const std::string& url,
                                                            const SinkOptions& options);
  [[nodiscard]] Delivery post(http::Request request);
  /// The server's clock; see Sink::time().
  [[nodiscard]] std::optional<std::int64_t> time();

 private:
  AuthorizedClient(std::unique_ptr<http::Client> client, std::string token_file)
      : client_(std::move(client)), token_file_(std::move(token_file)) {}
  [[nodiscard]] base::Outcome<void> authorize(http::Request& request) const;

  std::unique_ptr<http::Client> client_;
  std::string token_file_;
};

[[nodiscard]] base::Outcome<std::unique_ptr<Sink>> open_http_sink(const std::string& url,
                                                                  const SinkOptions& options);

}  // namespace geiger::fleet
