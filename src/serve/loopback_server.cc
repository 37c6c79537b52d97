#include "serve/loopback_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <exception>
#include <new>
#include <system_error>
#include <utility>

namespace geiger::serve {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
/// Connections without a thread that have sent their request.
constexpr std::size_t kMostWaiting = 600;
/// Of connections that the kernel has not handed over yet.
constexpr int kBacklog = 1024;

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

LoopbackServer::LoopbackServer(std::size_t threads, std::size_t most_body)
    : threads_(threads), most_body_(most_body), admission_(kMostWaiting) {
  parser_.set_default_headers(security_headers());
  parser_.set_payload_max_length(most_body);
  parser_.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
        answer_with(response, 500, "internal error");
      });
}

/// A template, so that calls which a version of the library does not have are not compiled.
template <typename Stream>
void LoopbackServer::Parser::answer_on(Stream& stream) {
  bool is_closed = false;
  const auto end_headers = [&stream](httplib::Request&) { stream.end_headers(); };
  if constexpr (requires { this->process_request(stream, true, is_closed, end_headers); }) {
    this->process_request(stream, true, is_closed, end_headers);
  } else {
    this->process_request(stream, {}, 0, {}, 0, true, is_closed, end_headers);
  }
}

bool LoopbackServer::is_meant(const httplib::Request& request) const {
  if (request.get_header_value_count("Host") != 1) return false;
  const std::string host = request.get_header_value("Host");
  const std::string suffix = ":" + std::to_string(port_);
  return host == kLoopback + suffix || host == "localhost" + suffix;
}

std::optional<int> LoopbackServer::bind(int port) {
  base::UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Without SO_REUSEPORT: two servers on one port would share it.
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool is_bound = ::bind(listener.get(), any, size) == 0 &&
                        listen(listener.get(), kBacklog) == 0 &&
                        getsockname(listener.get(), any, &size) == 0;
  if (!is_bound) return std::nullopt;
  listener_ = std::move(listener);
  port_ = ntohs(address.sin_port);
  return port_;
}

base::Outcome<void> LoopbackServer::start() {
  lobby_.emplace(listener_.get(), most_body_, admission_);
  if (!admission_.is_ready() || !lobby_->is_ready()) {
    return base::Failure{"no descriptor for the HTTP server: raise the limit of open files"};
  }
  try {
    while (workers_.size() < threads_) workers_.emplace_back([this] { work(); });
    acceptor_ = std::thread([this] { lobby_->run(ends_); });
    return {};
  } catch (const std::system_error& error) {
    stop();
    return base::Failure{"cannot start " + std::to_string(threads_) + " threads (" +
                         error.code().message() + "): raise the limit of processes or memory"};
  }
}

void LoopbackServer::stop() {
  ends_ = true;
  if (listener_.is_open()) shutdown(listener_.get(), SHUT_RDWR);  // Wakes the lobby.
  if (acceptor_.joinable()) acceptor_.join();
  admission_.end();
  for (std::thread& worker : std::exchange(workers_, {})) worker.join();
  lobby_.reset();
  listener_.reset();
}

void LoopbackServer::work() {
  while (auto arrival = admission_.next()) serve(*std::move(arrival));
}

void LoopbackServer::serve(Arrival arrival) {
  bool gave_way = false;
  try {
    TimedStream stream(arrival, admission_);
    parser_.answer(stream);
    gave_way = stream.gave_way();
  } catch (const std::bad_alloc&) {
    // Outside of handlers the library passes it on. The peer gets no answer, and tries again.
  }
  shutdown(arrival.socket.get(), SHUT_RDWR);
  arrival.socket.reset();
  admission_.leave(arrival.peer, gave_way);
}

}  // namespace geiger::serve
