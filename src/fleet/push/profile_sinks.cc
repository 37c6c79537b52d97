// Stores of other projects: Pyroscope's /ingest, Parca's WriteRaw.

#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <string_view>
#include <utility>

#include "fleet/push/sinks.h"
#include "pprof/profile_proto.h"

namespace geiger::fleet {

// Pyroscope's /ingest: a form with the profile and what its values mean.

namespace {

/// Pyroscope's defaults: max_profile_size_bytes, max_profile_stacktrace_samples,
/// reject_older_than.
constexpr ProfileLimits kLimits{std::size_t{4} << 20, 16'000, 3600};
/// No profile contains it: compressed data of 2^37 bytes would by chance, once.
constexpr std::string_view kBoundary = "geiger-5a1f3c9b7e2d8046";

std::string url_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

/// "service{name=value,...}". Its parser has no quotes: what would end a value is replaced.
std::string application(const PushedProfile& profile) {
  const auto plain = [](std::string text) {
    for (char& c : text) {
      if (std::string_view("{}=,\"").find(c) != std::string_view::npos) c = '_';
    }
    return text;
  };
  std::string name = plain(profile.service) + "{";
  name += fmt::format("version={},host={}", plain(profile.version), plain(profile.host));
  for (const auto& [label, value] : profile.labels) {
    name += fmt::format(",{}={}", plain(label), plain(value));
  }
  return name + "}";
}

/// Live values are levels: a sum over time would count objects once per profile.
std::string sample_type_config() {
  std::string config;
  for (const pprof::SampleType& type : pprof::kSampleTypes) {
    const std::string_view units = type.unit == "bytes" ? "bytes" : "objects";
    const std::string_view how = type.type.starts_with("inuse_") ? "average" : "sum";
    config += fmt::format(R"({}"{}":{{"units":"{}","aggregation":"{}","sampled":false}})",
                          config.empty() ? "" : ",", type.type, units, how);
  }
  return "{" + config + "}";
}

std::string part(std::string_view name, std::string_view file, std::string_view content) {
  return fmt::format(
      "--{}\r\nContent-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\n"
      "Content-Type: application/octet-stream\r\n\r\n{}\r\n",
      kBoundary, name, file, content);
}

class PyroscopeSink final : public ProfileSink {
 public:
  explicit PyroscopeSink(AuthorizedClient client) : client_(std::move(client)) {}

  ProfileLimits limits() const override { return kLimits; }

  Delivery send(const PushedProfile& profile) override {
    const std::string form =
        part("profile", "profile.pprof", profile.pprof) +
        part("sample_type_config", "sample_type_config.json", sample_type_config()) +
        fmt::format("--{}--\r\n", kBoundary);
    return client_.post(
        {.target = fmt::format("/ingest?name={}&from={}&until={}&format=pprof&spyName=geiger",
                               url_encoded(application(profile)), profile.begin, profile.end),
         .headers = {fmt::format("Content-Type: multipart/form-data; boundary={}", kBoundary)},
         .body = form});
  }

 private:
  AuthorizedClient client_;
};

}  // namespace

OpenedProfileSink open_pyroscope(const std::string& url, const SinkOptions& options) {
  auto client = GEIGER_TRY(AuthorizedClient::open(url, options));
  return std::unique_ptr<ProfileSink>(std::make_unique<PyroscopeSink>(std::move(client)));
}

// Parca's WriteRaw over gRPC-Web, which goes through HTTP/1.1 and proxies.

namespace {

constexpr const char* kWriteRaw = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw";

// Field numbers of parca.profilestore.v1alpha1.
namespace in_request {
constexpr int kSeries = 2, kNormalized = 3;
}
namespace in_series {
constexpr int kLabels = 1, kSamples = 2;
}
namespace in_labels {
constexpr int kLabel = 1;
}
namespace in_label {
constexpr int kName = 1, kValue = 2;
}
namespace in_sample {
constexpr int kRawProfile = 1;
}

/// A message of gRPC: a flag for compression, the length, and the bytes.
std::string framed(const std::string& message) {
  constexpr int kByteBits = 8, kLengthBytes = 4;
  std::string frame(1, '\0');
  for (int i = kLengthBytes - 1; i >= 0; --i) {
    frame.push_back(static_cast<char>(message.size() >> (kByteBits * i)));
  }
  return frame + message;
}

class ParcaSink final : public ProfileSink {
 public:
  explicit ParcaSink(AuthorizedClient client) : client_(std::move(client)) {}

  ProfileLimits limits() const override { return {}; }

  Delivery send(const PushedProfile& profile) override {
    std::string said;
    const std::string call = parca_call(profile);
    const Delivery delivery =
        client_.post({.target = kWriteRaw,
                      .headers = {"Content-Type: application/grpc-web+proto", "X-Grpc-Web: 1"},
                      .body = call,
                      .take = [&said](std::string_view piece) { said += piece; }});
    const bool is_failure = delivery.what == Delivery::What::kTaken &&
                            said.find("grpc-status: 0") == std::string::npos &&
                            said.find("grpc-status:0") == std::string::npos;
    return is_failure ? Delivery{Delivery::What::kRefused, why(said), {}, {}} : delivery;
  }

 private:
  /// Calls fail with status 200, and the reason after the messages.
  static std::string why(const std::string& said) {
    constexpr std::string_view kMessage = "grpc-message:";
    const std::size_t at = said.find(kMessage);
    if (at == std::string::npos) return "the answer does not say that it was stored";
    const std::size_t begin =
        std::min(said.find_first_not_of(' ', at + kMessage.size()), said.size());
    return said.substr(begin, said.find_first_of("\r\n", begin) - begin);
  }

  AuthorizedClient client_;
};

}  // namespace

std::string parca_call(const PushedProfile& profile) {
  std::string message;
  protozero::pbf_writer request(message);
  {
    protozero::pbf_writer series(request, in_request::kSeries);
    {
      protozero::pbf_writer labels(series, in_series::kLabels);
      const auto add = [&labels](const std::string& name, const std::string& value) {
        protozero::pbf_writer label(labels, in_labels::kLabel);
        label.add_string(in_label::kName, name);
        label.add_string(in_label::kValue, value);
      };
      add("__name__", "geiger");
      add("job", profile.service);
      add("version", profile.version);
      add("instance", profile.host);
      for (const auto& [name, value] : profile.labels) add(name, value);
    }
    protozero::pbf_writer sample(series, in_series::kSamples);
    sample.add_bytes(in_sample::kRawProfile, profile.pprof);
  }
  request.add_bool(in_request::kNormalized, false);
  return framed(message);
}

OpenedProfileSink open_parca(const std::string& url, const SinkOptions& options) {
  auto client = GEIGER_TRY(AuthorizedClient::open(url, options));
  return std::unique_ptr<ProfileSink>(std::make_unique<ParcaSink>(std::move(client)));
}

}  // namespace geiger::fleet
