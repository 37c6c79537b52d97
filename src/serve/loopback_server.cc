#include "serve/loopback_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <memory>
#include <system_error>
#include <utility>

namespace geiger::serve {
namespace {

/// Between two pieces of a request.
constexpr time_t kReadSeconds = 2;
constexpr time_t kWriteSeconds = 10;
constexpr const char* kLoopback = "127.0.0.1";

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

}  // namespace

void answer_with(httplib::Response& response, int status, const std::string& reason) {
  response.status = status;
  response.set_content(reason + "\n", "text/plain; charset=utf-8");
}

void answer_with(httplib::Response& response, Response answer) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) {
    response.headers.erase(name);  // Instead of a default, not beside it.
    response.set_header(name, value);
  }
  response.set_content(std::move(answer.body), answer.type);
}

LoopbackServer::LoopbackServer(std::size_t threads, std::size_t most_body) : threads_(threads) {
  server_.set_default_headers(security_headers());
  server_.set_keep_alive_max_count(1);
  server_.set_keep_alive_timeout(kReadSeconds);
  server_.set_read_timeout(kReadSeconds);
  server_.set_write_timeout(kWriteSeconds);
  server_.set_payload_max_length(most_body);
  // Without SO_REUSEPORT, which the library would set: two servers on one port would share it.
  server_.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server_.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
        answer_with(response, 500, "internal error");
      });
}

bool LoopbackServer::is_meant(const httplib::Request& request) const {
  if (request.get_header_value_count("Host") != 1) return false;
  const std::string host = request.get_header_value("Host");
  const std::string suffix = ":" + std::to_string(port_);
  return host == kLoopback + suffix || host == "localhost" + suffix;
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

base::Outcome<void> LoopbackServer::start() {
  try {
    // Here and not when the server asks for them: there a failure would end the program.
    workers_ = std::make_unique<Workers>(threads_);
    server_.new_task_queue = [this] { return workers_.release(); };
    listener_ = std::thread([this] {
      server_.listen_after_bind();
      has_ended_ = true;
    });
    // Until it runs, stop() would do nothing, and the join after it would wait for ever.
    while (!server_.is_running() && !has_ended_) std::this_thread::yield();
    return {};
  } catch (const std::system_error& error) {
    return base::Failure{"cannot start " + std::to_string(threads_) + " threads (" +
                         error.code().message() + "): raise the limit of processes or memory"};
  }
}

void LoopbackServer::stop() {
  if (!listener_.joinable()) return;
  server_.stop();
  listener_.join();
}

}  // namespace geiger::serve
