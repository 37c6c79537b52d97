// Stores of other projects, which take profiles in pprof's format: Pyroscope and Parca. They keep
// values without intervals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/outcome.h"
#include "fleet/push/sink.h"

namespace geiger::fleet {

/// What a store takes at most, by its own defaults; 0: no limit.
struct ProfileLimits {
  std::size_t bytes = 0;  ///< Unpacked.
  std::size_t rows = 0;
};

struct PushedProfile {
  std::string service, version, host;
  std::map<std::string, std::string> labels;
  std::int64_t begin = 0, end = 0;  ///< Unix seconds.
  std::string pprof;                ///< Gzipped.
};

class ProfileSink {
 public:
  ProfileSink() = default;
  virtual ~ProfileSink() = default;
  ProfileSink(const ProfileSink&) = delete;
  ProfileSink& operator=(const ProfileSink&) = delete;

  [[nodiscard]] virtual ProfileLimits limits() const = 0;
  [[nodiscard]] virtual Delivery send(const PushedProfile& profile) = 0;
};

using OpenedProfileSink = base::Outcome<std::unique_ptr<ProfileSink>>;

/// `url`: of the server, without what its API adds.
[[nodiscard]] OpenedProfileSink open_pyroscope(const std::string& url, const SinkOptions& options);
[[nodiscard]] OpenedProfileSink open_parca(const std::string& url, const SinkOptions& options);

/// The body of a call of Parca's WriteRaw over gRPC-Web.
[[nodiscard]] std::string parca_call(const PushedProfile& profile);

}  // namespace geiger::fleet
