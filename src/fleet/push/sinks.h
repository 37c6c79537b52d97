// Where documents and profiles are sent, by the scheme of a URL.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/outcome.h"
#include "http/client.h"

namespace geiger::fleet {

// Where documents are sent.

/// What a sink did with a document.
struct Delivery {
  enum class What : std::uint8_t {
    kTaken,    ///< It is kept, now or since an earlier time.
    kPartly,   ///< A part of it is kept, and never the rest: sent again it would count twice.
    kLater,    ///< Not now: try again.
    kRefused,  ///< Never: it would be refused again.
  };
  What what = What::kTaken;
  std::string why;  ///< Unless it was taken: a clause. Else what is to be said nevertheless.
  std::optional<std::chrono::seconds> retry_after;  ///< As the sink asks for, of kLater.
  std::optional<std::int64_t>
      sink_time;                ///< Unix seconds on the sink's clock, if it reported them.
  bool is_known = false;        ///< It was taken at an earlier time.
  bool is_asked_again = false;  ///< Of kLater: the sink's protocol has it sent again, soon.

  [[nodiscard]] bool is_taken() const { return what == What::kTaken || what == What::kPartly; }
};

class Sink {
 public:
  Sink() = default;
  virtual ~Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  /// Sends a packed document or gap (parcel.h). Once it is taken it survives a crash of the
  /// receiver.
  [[nodiscard]] virtual Delivery send(std::string_view packed) = 0;
  /// Unix seconds on the sink's clock; nothing where it has no other one than this host, or does
  /// not answer.
  [[nodiscard]] virtual std::optional<std::int64_t> time() { return std::nullopt; }
};

/// What sinks on other hosts need.
struct SinkOptions {
  std::string token_file = {};       ///< Empty: $GEIGER_TOKEN_FILE, else no token is sent.
  std::function<bool()> stops = {};  ///< Polled while waiting: true ends the request.
  bool reads_modules = false;        ///< Files that documents name may be read, for their ids.
};

/// A path, or a URL of one of the schemes that take documents (schemes.h). Tokens are never in a
/// URL.
[[nodiscard]] base::Outcome<std::unique_ptr<Sink>> open_sink(const std::string& url,
                                                             const SinkOptions& options = {});

// Stores of other projects, which take profiles in pprof's format: Pyroscope and Parca. They keep
// values without intervals.

/// What a store takes at most, by its own defaults; 0: no limit.
struct ProfileLimits {
  std::size_t bytes = 0;  ///< Unpacked.
  std::size_t rows = 0;
  std::int64_t seconds = 0;  ///< Since a profile ended.
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

// A collector as a sink.

/// Whether a URL is one that a sink can be: https://, or http:// to the loopback interface (to any
/// host, if no secrets are sent), without a name or password in it. Else why not.
[[nodiscard]] base::Outcome<void> check_url(const std::string& url, bool has_secrets = true);

/// What a collector answers with 200 if it took a document at an earlier time.
inline constexpr const char* kAlreadyThere = "already there";

/// What an answer means to a document: of the collector and most stores.
[[nodiscard]] Delivery delivery_of(const http::Answer& answer);

/// A client that sends the token of its file, if it has one, which is read again for each request.
class AuthorizedClient {
 public:
  /// Fails if the URL does not pass the check, or if the file has no token. `has_secrets`: that
  /// requests have other ones.
  [[nodiscard]] static base::Outcome<AuthorizedClient> open(const std::string& url,
                                                            const SinkOptions& options,
                                                            bool has_secrets = true);
  [[nodiscard]] Delivery post(
      http::Request request,
      const std::function<Delivery(const http::Answer&)>& judge = delivery_of);
  /// The server's clock; see Sink::time().
  [[nodiscard]] std::optional<std::int64_t> time();

 private:
  AuthorizedClient(std::unique_ptr<http::Client> client, std::string token_file)
      : client_(std::move(client)), token_file_(std::move(token_file)) {}
  [[nodiscard]] base::Outcome<void> authorize(http::Request& request) const;

  std::unique_ptr<http::Client> client_;
  std::string token_file_;
};

[[nodiscard]] base::Outcome<std::unique_ptr<Sink>> open_http_sink(const std::string& url,
                                                                  const SinkOptions& options);

// A receiver of OTLP's profiles as a sink: each document is a request.

/// `url`: with its path, or without one; "otlp://" is where OTEL_EXPORTER_OTLP_* say.
[[nodiscard]] base::Outcome<std::unique_ptr<Sink>> open_otlp_sink(const std::string& url,
                                                                  const SinkOptions& options);

// The kinds of places that things are sent to, by the scheme of their URL. A new kind is a line in
// schemes.cc.

/// One of the two opens it: stores of a fleet take documents, others profiles. Both get the URL,
/// without what `cut` leaves out of its scheme.
struct Scheme {
  std::string_view name;  ///< Before "://".
  std::string_view rest;  ///< The rest of its URLs, for people.
  std::string_view cut;   ///< A prefix of the name.
  base::Outcome<std::unique_ptr<Sink>> (*open)(const std::string&, const SinkOptions&) = nullptr;
  OpenedProfileSink (*open_profiles)(const std::string&, const SinkOptions&) = nullptr;
  /// OTLP: what is sent has names, and its origin is OpenTelemetry's, of the environment.
  bool is_otlp = false;
};

[[nodiscard]] std::span<const Scheme> schemes();

/// Null if the URL has none, as a path. Fails for a scheme that is not known; the reason names
/// those that are.
[[nodiscard]] base::Outcome<const Scheme*> scheme_of(const std::string& url);

/// Of a URL whose scheme takes profiles.
[[nodiscard]] OpenedProfileSink open_profile_sink(const Scheme& scheme, const std::string& url,
                                                  const SinkOptions& options);

}  // namespace geiger::fleet
