#include "serve/http_server.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <thread>
#include <utility>

namespace geiger::serve {
namespace {

constexpr std::size_t kShortestToken = 8, kLongestToken = 128;
/// Connections that are answered at once; a slow one holds one of them. More wait.
constexpr std::size_t kThreads = 32;
/// Between two pieces of a request.
constexpr time_t kReadSeconds = 2;
constexpr time_t kWriteSeconds = 10;
constexpr std::size_t kMostBody = 0;
constexpr const char* kLoopback = "127.0.0.1";

/// Takes as long whatever the token has in common with it.
bool is_same(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return difference == 0;
}

const httplib::Headers& security_headers() {
  static const httplib::Headers headers{
      {"Cache-Control", "no-store"},
      {"Content-Security-Policy",
       "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; "
       "form-action 'none'"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"}};
  return headers;
}

void refuse(httplib::Response& response, int status, const std::string& reason) {
  response.status = status;
  response.set_content(reason + "\n", "text/plain; charset=utf-8");
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string token;
  for (const unsigned char byte : bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    token += digits.data();
  }
  return token;
}

bool is_token(const std::string& text) {
  const auto is_allowed = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return text.size() >= kShortestToken && text.size() <= kLongestToken &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

struct HttpServer::State {
  std::string token;
  Handler handler;
  int port = 0;
  httplib::Server server;
  std::thread listener;

  /// The path behind the token, if the request has it.
  [[nodiscard]] std::optional<std::string> admitted(const httplib::Request& request) const {
    const std::string_view path = request.path;
    const std::size_t end = path.find('/', 1);
    const std::string_view first = path.substr(1, end == path.npos ? path.npos : end - 1);
    if (!path.empty() && is_same(first, token)) {
      return std::string(end == path.npos ? "" : path.substr(end));
    }
    const bool has_token =
        request.has_param("token") && is_same(request.get_param_value("token"), token);
    return has_token ? std::optional(request.path) : std::nullopt;
  }

  /// Whether it wants the page, whose links and data lie beside it, and tells the token
  /// elsewhere than there.
  [[nodiscard]] bool wants_page_elsewhere(const httplib::Request& request) const {
    return request.path == "/" && is_same(request.get_param_value("token"), token);
  }

  /// Whether the request is for this machine by a name that only this machine has.
  [[nodiscard]] bool is_meant(const httplib::Request& request) const {
    if (request.get_header_value_count("Host") != 1) return false;
    const std::string host = request.get_header_value("Host");
    const std::string suffix = ":" + std::to_string(port);
    return host == kLoopback + suffix || host == "localhost" + suffix;
  }

  void answer(const httplib::Request& request, httplib::Response& response) const {
    if (!is_meant(request)) return refuse(response, 403, "this server is not known by that name");
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      return refuse(response, 405, "only GET and HEAD");
    }
    if (request.get_header_value("Sec-Fetch-Site") == "cross-site") {
      return refuse(response, 403, "not for other sites");
    }
    auto path = admitted(request);
    if (!path) return refuse(response, 403, "the token is missing or wrong");
    if (wants_page_elsewhere(request)) return response.set_redirect("/" + token + "/", 303);
    Request asked{*std::move(path), {}};
    for (const auto& [name, value] : request.params) {
      if (name != "token") asked.values.emplace(name, value);
    }
    Response answered = handler(asked);
    response.status = answered.status;
    for (const auto& [name, value] : answered.headers) {
      response.headers.erase(name);  // Instead of a default, not beside it.
      response.set_header(name, value);
    }
    response.set_content(std::move(answered.body), answered.type);
  }
};

HttpServer::HttpServer(std::string token, Handler handler) : state_(std::make_unique<State>()) {
  state_->token = std::move(token);
  state_->handler = std::move(handler);
  httplib::Server& server = state_->server;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.set_default_headers(security_headers());
  server.set_keep_alive_max_count(1);
  server.set_keep_alive_timeout(kReadSeconds);
  server.set_read_timeout(kReadSeconds);
  server.set_write_timeout(kWriteSeconds);
  server.set_payload_max_length(kMostBody);
  // Without SO_REUSEPORT, which the library would set: two servers on one port would share it.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_pre_routing_handler(
      [state = state_.get()](const httplib::Request& request, httplib::Response& response) {
        state->answer(request, response);
        return httplib::Server::HandlerResponse::Handled;
      });
  server.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
        refuse(response, 500, "this cannot be answered");
      });
}

HttpServer::~HttpServer() { stop(); }

std::optional<int> HttpServer::bind(int port) {
  httplib::Server& server = state_->server;
  if (port == 0) {
    port = server.bind_to_any_port(kLoopback);
    if (port <= 0) return std::nullopt;
  } else if (!server.bind_to_port(kLoopback, port)) {
    return std::nullopt;
  }
  state_->port = port;
  return port;
}

void HttpServer::start() {
  state_->listener = std::thread([this] { state_->server.listen_after_bind(); });
}

void HttpServer::stop() {
  if (!state_->listener.joinable()) return;
  state_->server.stop();
  state_->listener.join();
}

}  // namespace geiger::serve
