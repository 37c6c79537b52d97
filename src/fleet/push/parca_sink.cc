// Parca's WriteRaw over gRPC-Web, which goes through HTTP/1.1 and proxies.
#include <fmt/format.h>

#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "fleet/push/http_sink.h"
#include "fleet/push/profile_sink.h"

namespace geiger::fleet {
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
