// The module libgeiger-http.so: nothing else of geiger needs cpp-httplib, and with it OpenSSL.

#include <arpa/inet.h>
#include <httplib.h>
#include <sys/socket.h>

#include <string_view>
#include <thread>
#include <utility>

#include "serve/http_module.h"

namespace geiger::serve {
namespace {

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

class LoopbackServer final : public HttpServer {
 public:
  LoopbackServer(std::string token, Handler handler);
  ~LoopbackServer() override { stop(); }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;

  std::optional<int> bind(int port) override;
  void start() override;
  void stop() override;

 private:
  std::string token_;
  Handler handler_;
  int port_ = 0;
  httplib::Server server_;
  std::thread listener_;

  /// The path behind the token, if the request has it.
  [[nodiscard]] std::optional<std::string> admitted(const httplib::Request& request) const {
    const std::string_view path = request.path;
    const std::size_t end = path.find('/', 1);
    const std::string_view first = path.substr(1, end == path.npos ? path.npos : end - 1);
    if (!path.empty() && is_same(first, token_)) {
      return std::string(end == path.npos ? "" : path.substr(end));
    }
    const bool has_token =
        request.has_param("token") && is_same(request.get_param_value("token"), token_);
    return has_token ? std::optional(request.path) : std::nullopt;
  }

  /// Whether it wants the page, whose links and data lie beside it, and tells the token
  /// elsewhere than there.
  [[nodiscard]] bool wants_page_elsewhere(const httplib::Request& request) const {
    return request.path == "/" && is_same(request.get_param_value("token"), token_);
  }

  /// Whether the request is for this machine by a name that only this machine has.
  [[nodiscard]] bool is_meant(const httplib::Request& request) const {
    if (request.get_header_value_count("Host") != 1) return false;
    const std::string host = request.get_header_value("Host");
    const std::string suffix = ":" + std::to_string(port_);
    return host == kLoopback + suffix || host == "localhost" + suffix;
  }

  void answer(const httplib::Request& request, httplib::Response& response) const {
    if (!is_meant(request))
      return refuse(response, 403, "this server does not answer to that host name");
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      return refuse(response, 405, "only GET and HEAD");
    }
    if (request.get_header_value("Sec-Fetch-Site") == "cross-site") {
      return refuse(response, 403, "requests from other sites are refused");
    }
    auto path = admitted(request);
    if (!path) return refuse(response, 403, "the token is missing or wrong");
    if (wants_page_elsewhere(request)) return response.set_redirect("/" + token_ + "/", 303);
    Request asked{*std::move(path), {}};
    for (const auto& [name, value] : request.params) {
      if (name != "token") asked.values.emplace(name, value);
    }
    Response answered = handler_(asked);
    response.status = answered.status;
    for (const auto& [name, value] : answered.headers) {
      response.headers.erase(name);  // Instead of a default, not beside it.
      response.set_header(name, value);
    }
    response.set_content(std::move(answered.body), answered.type);
  }
};

LoopbackServer::LoopbackServer(std::string token, Handler handler)
    : token_(std::move(token)), handler_(std::move(handler)) {
  server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server_.set_default_headers(security_headers());
  server_.set_keep_alive_max_count(1);
  server_.set_keep_alive_timeout(kReadSeconds);
  server_.set_read_timeout(kReadSeconds);
  server_.set_write_timeout(kWriteSeconds);
  server_.set_payload_max_length(kMostBody);
  // Without SO_REUSEPORT, which the library would set: two servers on one port would share it.
  server_.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server_.set_pre_routing_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        answer(request, response);
        return httplib::Server::HandlerResponse::Handled;
      });
  server_.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
        refuse(response, 500, "internal error");
      });
}

std::optional<int> LoopbackServer::bind(int port) {
  if (port == 0) {
    port = server_.bind_to_any_port(kLoopback);
    if (port <= 0) return std::nullopt;
  } else if (!server_.bind_to_port(kLoopback, port)) {
    return std::nullopt;
  }
  port_ = port;
  return port;
}

void LoopbackServer::start() {
  listener_ = std::thread([this] { server_.listen_after_bind(); });
}

void LoopbackServer::stop() {
  if (!listener_.joinable()) return;
  server_.stop();
  listener_.join();
}

}  // namespace
}  // namespace geiger::serve

geiger::serve::HttpServer* geiger_make_http_server(std::string* token,
                                                   geiger::serve::Handler* handler) {
  return new geiger::serve::LoopbackServer(std::move(*token), std::move(*handler));
}
