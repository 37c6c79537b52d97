// Posts over HTTP. The code that does it is in a module of its own, which is loaded when it is
// needed: libcurl and what it loads are more than all else that geiger links.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace geiger::fleet {

/// An answer, or why there is none.
struct HttpAnswer {
  long status = 0;                          ///< 0: there was none.
  std::string problem;                      ///< Of status 0: a clause.
  std::string line;                         ///< The first line of the body, cut to some 200 bytes.
  std::optional<std::int64_t> date;         ///< Unix seconds.
  std::optional<std::int64_t> retry_after;  ///< Seconds.
};

class HttpClient {
 public:
  HttpClient() = default;
  virtual ~HttpClient() = default;
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// A GET without a body, else a POST of it. Redirects are not followed: they could lead the
  /// token elsewhere.
  [[nodiscard]] virtual HttpAnswer request(const std::string& token,
                                           std::optional<std::string_view> body) = 0;
};

inline constexpr const char* kClientModule = "libgeiger-push.so";
inline constexpr const char* kMakeHttpClient = "geiger_make_http_client";

}  // namespace geiger::fleet

/// Makes a client for a URL, which the caller owns. Moves from `stops`, which may be empty.
extern "C" geiger::fleet::HttpClient* geiger_make_http_client(const std::string* url,
                                                              std::function<bool()>* stops);
