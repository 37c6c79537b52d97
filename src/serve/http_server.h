// A small HTTP server on the loopback interface, for pages and profiles of one user.
//
// Requests must carry the token, in the path (/TOKEN/...) or in the query (?token=TOKEN). A page of
// another site that had its name resolved to this machine (DNS rebinding) is refused by the Host
// header, and nothing allows other origins to read. Only GET and HEAD are answered, bodies are not
// read.
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

class HttpServer {
 public:
  HttpServer() = default;
  virtual ~HttpServer() = default;
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Binds 127.0.0.1; port 0 takes a free one. The port, or nothing with errno where it is
  /// taken or refused.
  [[nodiscard]] virtual std::optional<int> bind(int port) = 0;
  /// Answers on threads of its own until stop().
  virtual void start() = 0;
  /// Ends the answers under way as soon as their handlers return.
  virtual void stop() = 0;
};

/// From its module. Fails where that cannot be loaded.
[[nodiscard]] base::Outcome<std::unique_ptr<HttpServer>> load_http_server(std::string token,
                                                                          Handler handler);

}  // namespace geiger::serve
