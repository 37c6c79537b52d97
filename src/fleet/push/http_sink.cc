#include "fleet/push/http_sink.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "fleet/store/open_store.h"
#include "http/token_file.h"
#include "http/url.h"

namespace geiger::fleet {
namespace {

constexpr long kBadRequest = 400, kUnauthorized = 401, kForbidden = 403, kTimeout = 408,
               kTooMany = 429, kServerError = 500;

class HttpSink final : public Sink {
 public:
  HttpSink(std::unique_ptr<http::Client> client, std::string token_file)
      : client_(std::move(client)), token_file_(std::move(token_file)) {}

  Delivery send(std::string_view packed) override {
    const auto token = this->token();
    if (!token.has_value()) return {Delivery::What::kLater, token.reason(), {}, {}};
    return delivery_of(client_->send({.headers = headers(token.value()), .body = packed}));
  }

  std::optional<std::int64_t> time() override {
    const auto token = this->token();
    if (!token.has_value()) return std::nullopt;
    return client_->send({.headers = headers(token.value())}).date;
  }

 private:
  [[nodiscard]] base::Outcome<std::string> token() const {
    return token_file_.empty() ? base::Outcome<std::string>(std::string())
                               : http::read_token(token_file_);
  }

  static std::vector<std::string> headers(const std::string& token) {
    std::vector<std::string> headers{"Content-Type: application/octet-stream"};
    if (!token.empty()) headers.push_back("Authorization: Bearer " + token);
    return headers;
  }

  std::unique_ptr<http::Client> client_;
  std::string token_file_;
};

}  // namespace

base::Outcome<void> check_url(const std::string& url) {
  const bool is_http = url.starts_with("https://") || url.starts_with("http://");
  if (!is_http) {
    return base::Failure{url + ": a store (" + kStoreForms + ") or https://HOST/PATH is expected"};
  }
  const auto parsed = http::parse_url(url);
  if (!parsed.has_value()) return parsed.failure();
  if (parsed->user.empty()) return {};
  return base::Failure{"a URL does not carry secrets: name the file of a token by --token-file"};
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

base::Outcome<std::unique_ptr<Sink>> open_http_sink(const std::string& url,
                                                    const SinkOptions& options) {
  std::string token_file = token_file_of(options.token_file);
  if (!token_file.empty()) {
    const auto token = http::read_token(token_file);
    if (!token.has_value()) return token.failure();
  }
  auto client = http::make_client(url, options.stops);
  if (!client.has_value()) return client.failure();
  return std::unique_ptr<Sink>(
      std::make_unique<HttpSink>(std::move(client.value()), std::move(token_file)));
}

}  // namespace geiger::fleet
