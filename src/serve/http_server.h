// A small HTTP server on the loopback interface, for pages and profiles of one user.
//
// Who may ask: whoever knows the token, which stands in the path (/TOKEN/...) or the query
// (?token=TOKEN) of every request. A page of another site that had its name resolved to this
// machine (DNS rebinding) is refused by the Host header, and nothing allows other origins to
// read. Only GET and HEAD are answered, bodies are not read.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace geiger::serve {

/// What was asked for, once it may be.
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

/// A token that nobody guesses: 128 bits in hexadecimal.
[[nodiscard]] std::string random_token();
/// Whether it can stand in a path as it is and is not too short to be guessed: 8 to 128 of
/// letters, digits, '-' and '_'.
[[nodiscard]] bool is_token(const std::string& text);

class HttpServer {
 public:
  HttpServer(std::string token, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Binds 127.0.0.1; port 0 takes a free one. The port, or nothing with errno where it is
  /// taken or refused.
  [[nodiscard]] std::optional<int> bind(int port);
  /// Answers on threads of its own until stop().
  void start();
  /// Ends the answers under way as soon as their handlers return.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace geiger::serve
