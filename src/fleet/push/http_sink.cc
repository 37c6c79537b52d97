#include "fleet/push/http_sink.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "fleet/store/open_store.h"
#include "http/token_file.h"
#include "http/url.h"

namespace geiger::fleet {
namespace {

constexpr long kBadRequest = 400, kUnauthorized = 401, kForbidden = 403, kTimeout = 408,
               kTooMany = 429, kServerError = 500;

class HttpSink final : public Sink {
 public:
  explicit HttpSink(AuthorizedClient client) : client_(std::move(client)) {}

  Delivery send(std::string_view packed) override {
    return client_.post({.headers = {"Content-Type: application/octet-stream"}, .body = packed});
  }

  std::optional<std::int64_t> time() override { return client_.time(); }

 private:
  AuthorizedClient client_;
};

}  // namespace

base::Outcome<void> check_url(const std::string& url) {
  const auto parsed = GEIGER_TRY(http::parse_url(url));
  if (parsed.user.empty()) return {};
  return base::Failure{"a URL must not contain secrets: use --token-file"};
}

Delivery delivery_of(const http::Answer& answer) {
  using What = Delivery::What;
  Delivery delivery;
  delivery.sink_time = answer.date;
  if (answer.is_ok()) return delivery;
  const bool is_refused = answer.status >= kBadRequest && answer.status < kServerError &&
                          answer.status != kTimeout && answer.status != kTooMany &&
                          answer.status != kUnauthorized && answer.status != kForbidden;
  delivery.what = is_refused ? What::kRefused : What::kLater;
  delivery.why =
      answer.status == 0 ? answer.problem : fmt::format("{} {}", answer.status, answer.line);
  if (answer.retry_after) delivery.retry_after = std::chrono::seconds(*answer.retry_after);
  return delivery;
}

base::Outcome<AuthorizedClient> AuthorizedClient::open(const std::string& url,
                                                       const SinkOptions& options) {
  GEIGER_TRY(check_url(url));
  std::string token_file = token_file_of(options.token_file);
  if (!token_file.empty()) GEIGER_TRY(http::read_token(token_file));
  auto client = GEIGER_TRY(http::make_client(url, options.stops));
  return AuthorizedClient(std::move(client), std::move(token_file));
}

base::Outcome<void> AuthorizedClient::authorize(http::Request& request) const {
  if (token_file_.empty()) return {};
  const auto token = GEIGER_TRY(http::read_token(token_file_));
  request.headers.push_back("Authorization: Bearer " + token);
  return {};
}

Delivery AuthorizedClient::post(http::Request request) {
  const auto authorized = authorize(request);
  if (!authorized.has_value()) return {Delivery::What::kLater, authorized.reason(), {}, {}};
  return delivery_of(client_->send(request));
}

std::optional<std::int64_t> AuthorizedClient::time() {
  http::Request request;
  return authorize(request).has_value() ? client_->send(request).date : std::nullopt;
}

base::Outcome<std::unique_ptr<Sink>> open_http_sink(const std::string& url,
                                                    const SinkOptions& options) {
  auto client = GEIGER_TRY(AuthorizedClient::open(url, options));
  return std::unique_ptr<Sink>(std::make_unique<HttpSink>(std::move(client)));
}

}  // namespace geiger::fleet
