// Sends requests over HTTP: the URLs of servers, secrets, and the client, whose code is in a module
// of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.h"

namespace geiger::http {

// URLs of servers, as users type them.

struct Url {
  std::string scheme;  ///< "https", or "http" to the loopback interface.
  std::string user;    ///< Empty: none.
  std::string host;    ///< With brackets, if it has some.
  std::string port;    ///< Empty: the usual one.
  std::string path;    ///< From "/" on; empty: none.
};

/// Fails where secrets would travel readable: in the URL itself, or over http to another host,
/// unless no secret is sent (`has_secrets`).
[[nodiscard]] base::Outcome<Url> parse_url(const std::string& text, bool has_secrets = true);

// Secrets that requests carry: a file of them, one a line. Empty lines and those that begin with
// '#' are none.

/// All of them. Fails if there is none, if one is not of 16 to 512 printable characters, or if
/// all users may read or write the file.
[[nodiscard]] base::Outcome<std::vector<std::string>> read_tokens(const std::string& path);
/// The first one.
[[nodiscard]] base::Outcome<std::string> read_token(const std::string& path);

// Sends requests over HTTP. The code that does it is in a module of its own, which is loaded when
// it is needed: libcurl and what it loads are more than all else that geiger links.

/// Of statuses, the first that is not a success.
inline constexpr long kNotOk = 300;

/// Files of TLS; empty: the system's authorities, no certificate of the client's.
struct Certificates {
  std::string authorities, certificate, key;
};

struct Request {
  std::string target = {};                    ///< Behind the client's URL: "?query=...".
  std::vector<std::string> headers = {};      ///< "Name: value".
  std::optional<std::string_view> body = {};  ///< Posted; without one it is a GET.
  /// Gets the body of a successful answer, piece by piece.
  std::function<void(std::string_view)> take = {};
  bool takes_failures = false;  ///< Also that of any other.
  std::chrono::milliseconds timeout{60'000};
  Certificates certificates = {};
  bool is_question = false;  ///< The answer may take as long as it takes.
};

/// An answer, or why it failed.
struct Answer {
  long status = 0;                          ///< 0: there was none.
  std::string problem;                      ///< Of status 0: a clause.
  std::string line;                         ///< The first line of the body, cut to some 200 bytes.
  std::optional<std::int64_t> date;         ///< Unix seconds.
  std::optional<std::int64_t> retry_after;  ///< Seconds.

  [[nodiscard]] bool is_ok() const { return status >= 200 && status < kNotOk; }
};

class Client {
 public:
  Client() = default;
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Redirects are not followed: they could lead a token elsewhere.
  [[nodiscard]] virtual Answer send(const Request& request) = 0;
};

/// A client for a URL. `stops`, which may be empty, is polled while it waits: true gives up.
/// Fails where the module is missing.
[[nodiscard]] base::Outcome<std::unique_ptr<Client>> make_client(const std::string& url,
                                                                 std::function<bool()> stops);

}  // namespace geiger::http

/// The function of the module. The caller owns the client. Moves from `stops`.
extern "C" geiger::http::Client* geiger_make_http_client(const std::string* url,
                                                         std::function<bool()>* stops);
