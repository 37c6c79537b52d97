// Pyroscope's /ingest: a form with the profile and what its values mean.
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "fleet/push/http_sink.h"
#include "fleet/push/profile_sink.h"
#include "pprof/sample_types.h"

namespace geiger::fleet {
namespace {

/// Pyroscope's defaults: max_profile_size_bytes, max_profile_stacktrace_samples.
constexpr ProfileLimits kLimits{std::size_t{4} << 20, 16'000};
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

}  // namespace geiger::fleet
