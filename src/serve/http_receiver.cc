// Takes what is posted. A proxy before it does TLS, so the host's name is the proxy's matter, and
// a page of another site knows no bearer token.
#include <httplib.h>

#include <array>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/numbers.h"
#include "serve/http_module.h"
#include "serve/loopback_server.h"

namespace geiger::serve {
namespace {

/// More wait for one another than are worked on: most of a request's time is that of its commit.
constexpr std::size_t kReceiverThreads = 64;

/// As RFC 9110 has it, whatever the locale.
std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%s, %02d %s %d %02d:%02d:%02d GMT",
                kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text.data();
}

std::string bearer_of(const httplib::Request& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string value = request.get_header_value("Authorization");
  return value.starts_with(kScheme) ? value.substr(kScheme.size()) : std::string();
}

/// Nothing unless there is one length, in digits.
std::optional<std::size_t> length_of(const httplib::Request& request) {
  if (request.get_header_value_count("Content-Length") != 1) return std::nullopt;
  return base::number_in<std::size_t>(request.get_header_value("Content-Length"));
}

class ReceivingServer final : public LoopbackServer {
 public:
  explicit ReceivingServer(Receiver receiver)
      : LoopbackServer(kReceiverThreads, receiver.most_bytes), receiver_(std::move(receiver)) {
    using Routing = httplib::Server::HandlerResponse;
    server().set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          return is_to_be_read(request, response) ? Routing::Unhandled : Routing::Handled;
        });
    server().Post(".*",
                  [this](const httplib::Request& request, httplib::Response& response,
                         const httplib::ContentReader& read) { take(request, response, read); });
  }
  ~ReceivingServer() override { stop(); }
  ReceivingServer(const ReceivingServer&) = delete;
  ReceivingServer& operator=(const ReceivingServer&) = delete;

 private:
  Receiver receiver_;

  /// Whether there is a body to read; else the request is answered.
  bool is_to_be_read(const httplib::Request& request, httplib::Response& response) const {
    response.set_header("Date", http_date());
    if (receiver_.is_open && !is_meant(request)) {
      return refused(response, 403,
                     "without --token-file only 127.0.0.1 and localhost are answered");
    }
    const Posting posting = posting_of(request);
    if (!posting.is_post) {
      if (request.method == "GET" || request.method == "HEAD") return answered(posting, response);
      response.set_header("Allow", "GET, HEAD, POST");
      return refused(response, 405, "only GET, HEAD and POST");
    }
    const auto length = length_of(request);
    if (!length) return refused(response, 411, "the length of the body is missing");
    const bool is_plain = !request.has_header("Transfer-Encoding") &&
                          !request.has_header("Content-Encoding") &&
                          request.get_header_value("Content-Type") == "application/octet-stream";
    if (!is_plain) return refused(response, 415, "only application/octet-stream as it is");
    return *length <= receiver_.most_bytes || answered(posting, response);
  }

  static Posting posting_of(const httplib::Request& request) {
    return {request.method == "POST", bearer_of(request), length_of(request).value_or(0)};
  }

  static bool refused(httplib::Response& response, int status, const char* reason) {
    answer_with(response, status, reason);
    return false;
  }

  bool answered(const Posting& posting, httplib::Response& response) const {
    auto answer = receiver_.answer_early(posting);
    if (!answer) return refused(response, 500, "internal error");
    answer_with(response, std::move(*answer));
    return false;
  }

  void take(const httplib::Request& request, httplib::Response& response,
            const httplib::ContentReader& read) const {
    const std::size_t length = length_of(request).value_or(0);
    const Posting posting = posting_of(request);
    auto answer = receiver_.answer_early(posting);
    std::string body;
    if (!answer) body.reserve(length);
    std::size_t came = 0;
    // What is refused is read all the same: a connection that is closed on a sender that still
    // sends would take the answer away from it.
    const bool is_read = read([&](const char* data, std::size_t size) {
      came += size;
      if (!answer) body.append(data, size);
      return came <= length;
    });
    if (!answer) {
      const bool is_whole = is_read && came == length;
      answer = receiver_.take(posting, is_whole ? std::optional(std::move(body)) : std::nullopt);
    }
    answer_with(response, std::move(*answer));
  }
};

}  // namespace
}  // namespace geiger::serve

geiger::serve::HttpServer* geiger_make_http_receiver(geiger::serve::Receiver* receiver) {
  return new geiger::serve::ReceivingServer(std::move(*receiver));
}
