// A small HTTP server on the loopback interface, for pages and profiles of one user.
//
// Requests must carry the token, in the path (/TOKEN/...) or in the query (?token=TOKEN). A page of
// another site that had its name resolved to this machine (DNS rebinding) is refused by the Host
// header, and nothing allows other origins to read. Only GET and HEAD are answered, bodies are not
// read.
//
// A server of the second kind takes what is posted to it, in bounded bodies, for a handler that
// decides by the request's bearer token whether the body is read at all.
//
// It is in a module of its own that `geiger serve` loads: loading the libraries that it needs would
// take longer, at each start of geiger, than loading all of the others.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/outcome.h"

namespace geiger::serve {

/// A request that passed all checks.
struct Request {
  std::string path;                           ///< Behind the token: "/debug/pprof/heap".
  std::map<std::string, std::string> values;  ///< Of the query, without the token.
};

struct Response {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::map<std::string, std::string> headers = {};
};

/// Called on several threads at once.
using Handler = std::function<Response(const Request&)>;

/// A request to a server that takes bodies.
struct Posting {
  bool is_post = false;   ///< Else GET or HEAD, which have no body.
  std::string bearer;     ///< Of "Authorization: Bearer TOKEN"; empty without.
  std::size_t bytes = 0;  ///< Of the body, as the request says before it comes.
};

/// Handles requests with bodies. All functions are called on several threads at once.
struct Receiver {
  std::size_t most_bytes = 0;  ///< Of a body; larger ones are not read.
  /// No token guards it: only requests for 127.0.0.1 or localhost are answered, which pages of
  /// other sites cannot send. Behind a proxy requests are for the proxy's name.
  bool is_open = false;
  /// The answer to a request that needs no body: to GET and HEAD, to what is larger than
  /// most_bytes, and to what is refused whatever its body is. Called once for each request.
  std::function<std::optional<Response>(const Posting&)> answer_early;
  /// Whether there is memory for this many more bytes of a body. Called as they arrive: a sender
  /// that only announces many bytes takes no room from others.
  std::function<bool(std::size_t bytes)> reserve;
  /// Frees what was reserved.
  std::function<void(std::size_t bytes)> release;
  /// The answer to a request that was not answered early and for whose body there was no room.
  std::function<Response()> answer_full;
  /// Called for each other request that was not answered early; without a value where its body did
  /// not come whole.
  std::function<Response(std::optional<std::string> body)> take;
};

class HttpServer {
 public:
  HttpServer() = default;
  virtual ~HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Binds 127.0.0.1; port 0 takes a free one. The port, or nothing with errno where it is
  /// taken or refused.
  [[nodiscard]] virtual std::optional<int> bind(int port) = 0;
  /// Answers on threads of its own until stop(). Fails if they cannot be started.
  [[nodiscard]] virtual base::Outcome<void> start() = 0;
  /// Ends the answers under way as soon as their handlers return; slow requests are cut off.
  virtual void stop() = 0;
};

/// From its module. Fails where that cannot be loaded.
[[nodiscard]] base::Outcome<std::unique_ptr<HttpServer>> load_http_server(std::string token,
                                                                          Handler handler);
/// As above, a server that takes bodies.
[[nodiscard]] base::Outcome<std::unique_ptr<HttpServer>> load_http_receiver(Receiver receiver);

}  // namespace geiger::serve
