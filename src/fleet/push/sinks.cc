#include "fleet/push/sinks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/outcome.h"
#include "fleet/push/parcel.h"
#include "fleet/store/store.h"
#include "http/client.h"

namespace geiger::fleet {

// A store, in a file or on a server, as a sink.

/// `url` names a store (store.h); a file is created if missing.
[[nodiscard]] base::Outcome<std::unique_ptr<Sink>> open_store_sink(const std::string& url,
                                                                   const SinkOptions& options);

namespace {

constexpr long kBadRequest = 400, kUnauthorized = 401, kForbidden = 403, kTimeout = 408,
               kTooMany = 429, kServerError = 500;

Delivery not_taken(Delivery::What what, std::string why) {
  Delivery delivery;
  delivery.what = what;
  delivery.why = std::move(why);
  return delivery;
}
Delivery later(std::string why) { return not_taken(Delivery::What::kLater, std::move(why)); }
Delivery refused(std::string why) { return not_taken(Delivery::What::kRefused, std::move(why)); }

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

base::Outcome<void> check_url(const std::string& url, bool has_secrets) {
  const auto parsed = GEIGER_TRY(http::parse_url(url, has_secrets));
  if (parsed.user.empty()) return {};
  return base::Failure{"a URL must not contain secrets: use --token-file"};
}

Delivery delivery_of(const http::Answer& answer) {
  using What = Delivery::What;
  Delivery delivery;
  delivery.sink_time = answer.date;
  delivery.is_known = answer.line == kAlreadyThere;
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
                                                       const SinkOptions& options,
                                                       bool has_secrets) {
  std::string token_file = token_file_of(options.token_file);
  GEIGER_TRY(check_url(url, has_secrets || !token_file.empty()));
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

Delivery AuthorizedClient::post(http::Request request,
                                const std::function<Delivery(const http::Answer&)>& judge) {
  const auto authorized = authorize(request);
  if (!authorized.has_value()) return later(authorized.reason());
  return judge(client_->send(request));
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

namespace {

class StoreSink final : public Sink {
 public:
  explicit StoreSink(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Delivery send(std::string_view packed) override {
    const auto parcel = open_parcel(packed);
    if (!parcel.has_value()) return refused(parcel.reason());
    if (const auto* gap = std::get_if<GapRow>(&parcel.value())) {
      const auto put = store_->put(*gap);
      if (!put.has_value()) return later(put.reason());
      return {};
    }
    const auto receipt = store_->put(std::get<Document>(parcel.value()));
    if (!receipt.has_value()) return later(receipt.reason());
    Delivery delivery;
    delivery.is_known = receipt.value() == Receipt::kKnown;
    if (delivery.is_known || receipt.value() == Receipt::kStored) return delivery;
    return refused(std::string(text_of(receipt.value())));
  }

  std::optional<std::int64_t> time() override { return store_->time(); }

 private:
  std::unique_ptr<Store> store_;
};

}  // namespace

base::Outcome<std::unique_ptr<Sink>> open_store_sink(const std::string& url,
                                                     const SinkOptions& options) {
  auto store = GEIGER_TRY(open_store_to_fill(url, {options.token_file, options.stops}));
  return std::unique_ptr<Sink>(std::make_unique<StoreSink>(std::move(store)));
}

namespace {

constexpr std::string_view kDatabase = "[USER@]HOST[:PORT]/DATABASE";
constexpr std::string_view kAnyHost = "HOST/PATH", kThisHost = "127.0.0.1:PORT/PATH";

constexpr std::array<Scheme, 12> kSchemes{{
    {"file", "PATH", "", &open_store_sink, nullptr},
    {"clickhouse+https", kDatabase, "", &open_store_sink, nullptr},
    {"clickhouse+http", kDatabase, "", &open_store_sink, nullptr},
    {"https", kAnyHost, "", &open_http_sink, nullptr},
    {"http", kThisHost, "", &open_http_sink, nullptr},
    {"otlp+https", "HOST[:PORT][/PATH]", "otlp+", &open_otlp_sink, nullptr, true},
    {"otlp+http", "HOST[:PORT][/PATH]", "otlp+", &open_otlp_sink, nullptr, true},
    {"otlp", "", "", &open_otlp_sink, nullptr, true},
    {"pyroscope+https", kAnyHost, "pyroscope+", nullptr, &open_pyroscope},
    {"pyroscope+http", kThisHost, "pyroscope+", nullptr, &open_pyroscope},
    {"parca+https", kAnyHost, "parca+", nullptr, &open_parca},
    {"parca+http", kThisHost, "parca+", nullptr, &open_parca},
}};

}  // namespace

std::span<const Scheme> schemes() { return kSchemes; }

base::Outcome<const Scheme*> scheme_of(const std::string& url) {
  const std::size_t end = url.find("://");
  if (end == std::string::npos) return static_cast<const Scheme*>(nullptr);
  const std::string_view name = std::string_view(url).substr(0, end);
  const auto* const found = std::ranges::find(kSchemes, name, &Scheme::name);
  if (found != kSchemes.end()) return found;
  std::string known = "PATH";
  for (const Scheme& scheme : kSchemes) known += fmt::format(", {}://{}", scheme.name, scheme.rest);
  return base::Failure{fmt::format("{}: unknown scheme (choose from {})", url, known),
                       base::Fault::kUsage};
}

base::Outcome<std::unique_ptr<Sink>> open_sink(const std::string& url, const SinkOptions& options) {
  const auto scheme = GEIGER_TRY(scheme_of(url));
  if (scheme == nullptr) return open_store_sink(url, options);
  if (scheme->open != nullptr) {
    return scheme->open(url.substr(scheme->cut.size()), options);
  }
  return base::Failure{url + ": takes profiles and not windows: use 'geiger push'"};
}

OpenedProfileSink open_profile_sink(const Scheme& scheme, const std::string& url,
                                    const SinkOptions& options) {
  return scheme.open_profiles(url.substr(scheme.cut.size()), options);
}

}  // namespace geiger::fleet
