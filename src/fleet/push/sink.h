// Where documents are sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/outcome.h"

namespace geiger::fleet {

/// What a sink did with a document.
struct Delivery {
  enum class What : std::uint8_t {
    kTaken,    ///< It is kept, now or since an earlier time.
    kLater,    ///< Not now: try again.
    kRefused,  ///< Never: it would be refused again.
  };
  What what = What::kTaken;
  std::string why;                                  ///< Unless it was taken: a clause.
  std::optional<std::chrono::seconds> retry_after;  ///< As the sink asks for, of kLater.
  std::optional<std::int64_t>
      sink_time;  ///< Unix seconds on the sink's clock, if it reported them.
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
};

/// A path, or a URL of one of the schemes that take documents (schemes.h). Tokens are never in a
/// URL.
[[nodiscard]] base::Outcome<std::unique_ptr<Sink>> open_sink(const std::string& url,
                                                             const SinkOptions& options = {});

}  // namespace geiger::fleet
