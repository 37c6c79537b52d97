#include "fleet/push/schemes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fleet/push/http_sink.h"
#include "fleet/push/store_sink.h"

namespace geiger::fleet {
namespace {

constexpr std::string_view kDatabase = "[USER@]HOST[:PORT]/DATABASE";
constexpr std::string_view kAnyHost = "HOST/PATH", kThisHost = "127.0.0.1:PORT/PATH";

constexpr std::array<Scheme, 9> kSchemes{{
    {"file", "PATH", "", &open_store_sink, nullptr},
    {"clickhouse+https", kDatabase, "", &open_store_sink, nullptr},
    {"clickhouse+http", kDatabase, "", &open_store_sink, nullptr},
    {"https", kAnyHost, "", &open_http_sink, nullptr},
    {"http", kThisHost, "", &open_http_sink, nullptr},
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
