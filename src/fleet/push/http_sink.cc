#include "fleet/push/http_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "fleet/push/tokens.h"
#include "modules/module.h"

namespace geiger::fleet {
namespace {

constexpr long kOk = 200, kRedirect = 300, kBadRequest = 400, kUnauthorized = 401, kForbidden = 403,
               kTimeout = 408, kTooMany = 429, kServerError = 500;

class HttpSink final : public Sink {
 public:
  HttpSink(std::unique_ptr<HttpClient> client, std::string token_file)
      : client_(std::move(client)), token_file_(std::move(token_file)) {}

  Delivery send(std::string_view packed) override {
    const auto token = this->token();
    if (!token.has_value()) return {Delivery::What::kLater, token.reason(), {}, {}};
    return delivery_of(client_->request(token.value(), packed));
  }

  std::optional<std::int64_t> time() override {
    const auto token = this->token();
    if (!token.has_value()) return std::nullopt;
    return client_->request(token.value(), std::nullopt).date;
  }

 private:
  [[nodiscard]] base::Outcome<std::string> token() const {
    return token_file_.empty() ? base::Outcome<std::string>(std::string())
                               : read_token(token_file_);
  }

  std::unique_ptr<HttpClient> client_;
  std::string token_file_;
};

}  // namespace

base::Outcome<void> check_url(const std::string& url) {
  const std::size_t scheme_end = url.find("://");
  const std::string_view scheme = std::string_view(url).substr(0, scheme_end);
  if (scheme != "https" && scheme != "http") {
    return base::Failure{url + ": a path, file://PATH or https://HOST/PATH is expected"};
  }
  std::string_view host = std::string_view(url).substr(scheme_end + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (host.find('@') != std::string_view::npos) {
    return base::Failure{"a URL does not carry secrets: name the file of a token by --token-file"};
  }
  const std::string_view name =
      host.starts_with('[') ? host.substr(0, host.find(']') + 1) : host.substr(0, host.find(':'));
  if (name.empty()) return base::Failure{url + ": it names no host"};
  const bool is_here = name == "127.0.0.1" || name == "localhost" || name == "[::1]";
  if (scheme == "http" && !is_here) {
    return base::Failure{url + ": http:// is for this host only (127.0.0.1); use https://"};
  }
  return {};
}

Delivery delivery_of(const HttpAnswer& answer) {
  using What = Delivery::What;
  Delivery delivery;
  delivery.sink_time = answer.date;
  if (answer.status >= kOk && answer.status < kRedirect) return delivery;
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
  std::string token_file = options.token_file;
  if (const char* named = std::getenv("GEIGER_TOKEN_FILE");
      token_file.empty() && named != nullptr) {
    token_file = named;
  }
  if (!token_file.empty()) {
    const auto token = read_token(token_file);
    if (!token.has_value()) return token.failure();
  }
  std::function<bool()> stops = options.stops;
  const auto made = modules::call<decltype(geiger_make_http_client)>(kClientModule, kMakeHttpClient,
                                                                     &url, &stops);
  if (!made.has_value()) return base::Failure{"cannot send over HTTP: " + made.reason()};
  std::unique_ptr<HttpClient> client(made.value());
  return std::unique_ptr<Sink>(
      std::make_unique<HttpSink>(std::move(client), std::move(token_file)));
}

}  // namespace geiger::fleet
