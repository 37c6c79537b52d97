// A receiver of OTLP's profiles as a sink: OpenTelemetry's Collector, Pyroscope and others.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <protozero/pbf_message.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/export/otlp.h"
#include "analysis/export/streams/gzip.h"
#include "analysis/profile/select/profile.h"
#include "base/text.h"
#include "base/utf8_text.h"
#include "fleet/document/recall.h"
#include "fleet/push/file_ids.h"
#include "fleet/push/otlp_resource.h"
#include "fleet/push/parcel.h"
#include "fleet/push/sinks.h"
#include "otlp/messages.h"

namespace geiger::fleet {

namespace {

constexpr std::string_view kProfilesPath = "/v1development/profiles";
/// What Pyroscope takes of a profile, by its defaults; the Collector takes 20 MiB.
constexpr ProfileLimits kOtlpLimits{std::size_t{4} << 20, 16'000};
/// Of a stack: stores cut longer ones at the leaf.
constexpr std::size_t kMostFrames = 999;
/// Of an answer; more is not read.
constexpr std::size_t kMostAnswer = std::size_t{4} << 20;
constexpr std::size_t kMostSaid = 200;
constexpr long kTooLarge = 413;
constexpr Nanoseconds kMilli = 1'000'000, kWholeSecond = 1'000'000'000;

/// OTLP's own table of what is sent again. 401 and 403 are kept too: a token can be mended.
constexpr std::array<long, 5> kSentAgain{0, 429, 502, 503, 504};
constexpr std::array<long, 2> kDenied{401, 403};

bool is_among(long status, auto list) { return std::ranges::find(list, status) != list.end(); }

Delivery otlp_delivery_of(const http::Answer& answer) {
  Delivery delivery = delivery_of(answer);
  if (delivery.what == Delivery::What::kTaken) return delivery;
  delivery.is_asked_again = is_among(answer.status, kSentAgain);
  const bool is_kept = delivery.is_asked_again || is_among(answer.status, kDenied);
  delivery.what = is_kept ? Delivery::What::kLater : Delivery::What::kRefused;
  return delivery;
}

/// What a receiver says, which may be any bytes.
std::string said(std::string_view text) { return to_valid_utf8(text, kMostSaid); }

/// A field of a message, which may be any bytes.
template <typename Number>
std::string text_in(std::string_view message, Number number) {
  try {
    protozero::pbf_message<Number> reader(message.data(), message.size());
    if (reader.next(number)) return said(reader.get_string());
  } catch (const protozero::exception&) {  // Not such a message.
  }
  return {};
}

/// What a receiver left out of a request that it took.
struct Rejected {
  std::int64_t profiles = 0;
  std::string message;
};
Rejected rejected_in(std::string_view answer) {
  Rejected rejected;
  try {
    protozero::pbf_message<otlp::field::Response> response(answer.data(), answer.size());
    if (!response.next(otlp::field::Response::kPartialSuccess)) return rejected;
    protozero::pbf_message<otlp::field::PartialSuccess> part(response.get_message());
    while (part.next()) {
      switch (part.tag()) {
        case otlp::field::PartialSuccess::kRejectedProfiles:
          rejected.profiles = part.get_int64();
          break;
        case otlp::field::PartialSuccess::kMessage:
          rejected.message = said(part.get_string());
          break;
        default:
          part.skip();
      }
    }
  } catch (const protozero::exception&) {  // An answer of HTTP alone: it took the request.
  }
  return rejected;
}

/// Where requests go and how, as the environment has it for every exporter of OTLP.
struct OtlpSettings {
  std::string endpoint;              ///< With its path.
  std::vector<std::string> headers;  ///< Secrets, as likely as not: never shown.
  std::chrono::milliseconds timeout{10'000};
  bool compresses = true;
  http::Certificates certificates;
};

/// OTEL_EXPORTER_OTLP_PROFILES_NAME, else OTEL_EXPORTER_OTLP_NAME; empty: not set.
std::string otlp_variable(const char* name) {
  for (const char* signal : {"PROFILES_", ""}) {
    const std::string full = fmt::format("OTEL_EXPORTER_OTLP_{}{}", signal, name);
    const char* const value = std::getenv(full.c_str());
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

std::string with_path(std::string url, std::string_view path) {
  while (url.ends_with('/')) url.pop_back();
  return url.append(path);
}

/// "ENDPOINT/v1development/profiles", or the endpoint of profiles as it is.
base::Outcome<std::string> endpoint_of_environment() {
  const char* const own = std::getenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT");
  if (own != nullptr && *own != '\0') return std::string(own);
  const std::string of_all = otlp_variable("ENDPOINT");
  if (!of_all.empty()) return with_path(of_all, kProfilesPath);
  return base::Failure{
      "otlp:// is where OTEL_EXPORTER_OTLP_ENDPOINT says, which is not set: set it, or use "
      "otlp+https://HOST"};
}

base::Outcome<OtlpSettings> otlp_settings(const std::string& url) {
  OtlpSettings settings;
  if (url.starts_with("otlp://")) {
    if (url != "otlp://") {
      return base::Failure{url + ": otlp:// takes no host; use otlp+https://HOST"};
    }
    settings.endpoint = GEIGER_TRY(endpoint_of_environment());
    // They are meant for that endpoint.
    for (const auto& [key, value] : otlp::pairs_of(otlp_variable("HEADERS"))) {
      settings.headers.push_back(key + ": " + value);
    }
  } else {
    const http::Url parsed = GEIGER_TRY(http::parse_url(url, false));
    const bool has_path = !parsed.path.empty() && parsed.path != "/";
    settings.endpoint = has_path ? url : with_path(url, kProfilesPath);
  }
  if (const std::string protocol = otlp_variable("PROTOCOL");
      !protocol.empty() && protocol != "http/protobuf") {
    return base::Failure{fmt::format(
        "OTEL_EXPORTER_OTLP_PROTOCOL is {}: geiger sends http/protobuf, which a collector takes at "
        "port 4318",
        said(protocol))};
  }
  const std::string compression = otlp_variable("COMPRESSION");
  if (!compression.empty() && compression != "gzip" && compression != "none") {
    return base::Failure{"OTEL_EXPORTER_OTLP_COMPRESSION is neither gzip nor none"};
  }
  settings.compresses = compression != "none";
  if (const std::string timeout = otlp_variable("TIMEOUT"); !timeout.empty()) {
    const auto limit = base::number_in<std::uint32_t>(timeout);
    if (!limit || *limit == 0) {
      return base::Failure{"OTEL_EXPORTER_OTLP_TIMEOUT is not a number of milliseconds"};
    }
    settings.timeout = std::chrono::milliseconds(*limit);
  }
  settings.certificates = {otlp_variable("CERTIFICATE"), otlp_variable("CLIENT_CERTIFICATE"),
                           otlp_variable("CLIENT_KEY")};
  return settings;
}

class OtlpSink final : public Sink {
 public:
  OtlpSink(AuthorizedClient client, OtlpSettings settings, bool reads_modules)
      : client_(std::move(client)), settings_(std::move(settings)), reads_modules_(reads_modules) {}

  Delivery send(std::string_view packed) override {
    using What = Delivery::What;
    const auto parcel = open_parcel(packed);
    if (!parcel.has_value()) return refused(parcel.reason());
    if (const auto* gap = std::get_if<GapRow>(&parcel.value())) {
      return {What::kTaken, "OTLP has no form for a gap: " + gap->reason, {}, {}, false};
    }
    const auto& document = std::get<Document>(parcel.value());
    const profile::Recording recording = recording_of(document);
    std::size_t rows = kOtlpLimits.rows;
    for (bool is_second = false;; is_second = true, rows /= 2) {
      const std::string data = data_within(document, recording, rows);
      if (data.empty()) {
        return {What::kTaken, "a window without samples: it has no profile", {}, {}, false};
      }
      if (data.size() > kOtlpLimits.bytes) return refused("it is larger than 4 MiB");
      const auto [delivery, status] = post(data);
      if (status != kTooLarge || is_second) return delivery;
    }
  }

 private:
  static Delivery refused(std::string why) {
    return {Delivery::What::kRefused, std::move(why), {}, {}};
  }

  /// At most so many rows, and fewer where they take more bytes than a store's limit. `rows`
  /// becomes how many it took.
  std::string data_within(const Document& document, const profile::Recording& recording,
                          std::size_t& rows) {
    const Window& window = document.window;
    exports::OtlpOptions options;
    options.resource =
        resource_of({window.key.service, window.key.version, window.key.host, window.labels},
                    {window.key.process, window.executable});
    options.extent = {.has_stacks_only = true, .most_rows = rows};
    options.most_frames = kMostFrames;
    if (reads_modules_) add_file_ids(file_ids_, recording);
    options.file_ids = file_ids_;
    options.begin = static_cast<Nanoseconds>(window.key.started) * kWholeSecond;
    options.end = options.begin + window.recorded_ms * kMilli;
    const auto allocated = profile::select(recording, profile::Kind::kAllocated);
    const auto live = profile::select(recording, profile::Kind::kLiveAtEnd);
    constexpr std::size_t kFewest = 16;
    while (true) {
      std::string data = exports::otlp_data(recording, allocated, live, options);
      if (data.size() <= kOtlpLimits.bytes || rows <= kFewest) return data;
      options.extent.most_rows = rows /= 2;
    }
  }

  std::pair<Delivery, long> post(const std::string& data) {
    std::vector<std::string> headers = settings_.headers;
    headers.emplace_back("Content-Type: application/x-protobuf");
    headers.push_back(
        fmt::format("OTLP-Profiles-Development-Version: {}", otlp::kDevelopmentVersion));
    std::string packed;
    if (settings_.compresses) {
      headers.emplace_back("Content-Encoding: gzip");
      exports::GzipStream gzip([&packed](std::string_view piece) { packed += piece; });
      gzip.write(data);
      gzip.finish();
    }
    std::string answer;
    long status = 0;
    Delivery delivery = client_.post({.headers = headers,
                                      .body = settings_.compresses ? packed : data,
                                      .take =
                                          [&answer](std::string_view piece) {
                                            answer += piece.substr(0, kMostAnswer - answer.size());
                                          },
                                      .takes_failures = true,
                                      .timeout = settings_.timeout,
                                      .certificates = settings_.certificates},
                                     [&status](const http::Answer& each) {
                                       status = each.status;
                                       return otlp_delivery_of(each);
                                     });
    if (delivery.is_taken()) {
      note_rejected(delivery, answer);
    } else if (status != 0) {
      const std::string message = text_in(answer, otlp::field::Status::kMessage);
      const std::string line = said(answer.substr(0, answer.find_first_of("\r\n")));
      const std::string& why = message.empty() ? line : message;
      delivery.why = fmt::format("{}{}{}", status, why.empty() ? "" : " ", why);
    }
    return {delivery, status};
  }

  static void note_rejected(Delivery& delivery, std::string_view answer) {
    const Rejected rejected = rejected_in(answer);
    const std::string_view colon = rejected.message.empty() ? "" : ": ";
    if (rejected.profiles > 0) {
      delivery.what = Delivery::What::kPartly;
      delivery.why = fmt::format("the receiver dropped {} of its profiles{}{}", rejected.profiles,
                                 colon, rejected.message);
    } else if (!rejected.message.empty()) {
      delivery.why = "the receiver warns: " + rejected.message;
    }
  }

  AuthorizedClient client_;
  OtlpSettings settings_;
  bool reads_modules_;
  FileIds file_ids_;
};

}  // namespace

base::Outcome<std::unique_ptr<Sink>> open_otlp_sink(const std::string& url,
                                                    const SinkOptions& options) {
  auto settings = GEIGER_TRY(otlp_settings(url));
  auto client =
      GEIGER_TRY(AuthorizedClient::open(settings.endpoint, options, !settings.headers.empty()));
  return std::unique_ptr<Sink>(
      std::make_unique<OtlpSink>(std::move(client), std::move(settings), options.reads_modules));
}

}  // namespace geiger::fleet
