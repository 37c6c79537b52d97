// Takes what is posted. A proxy before it does TLS, so the host's name is the proxy's matter, and
// a page of another site knows no bearer token.
#include <httplib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/text.h"
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

/// A body as it comes, in memory that was reserved.
class ComingBody {
 public:
  ComingBody(const Receiver& receiver, Admission& admission, std::size_t length)
      : receiver_(receiver), admission_(admission), length_(length) {}
  ~ComingBody() { receiver_.release(reserved_); }
  ComingBody(const ComingBody&) = delete;
  ComingBody& operator=(const ComingBody&) = delete;

  /// False if there is no room for it.
  [[nodiscard]] bool append(const char* data, std::size_t size) {
    const std::size_t needed = bytes_.size() + size;
    if (needed > reserved_) {
      const std::size_t enough = std::max({needed, 2 * reserved_, kFirst});
      const std::size_t more = std::min(enough, length_) - reserved_;
      if (!reserve(more)) return false;
      reserved_ += more;
      bytes_.reserve(reserved_);
    }
    bytes_.append(data, size);
    return true;
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  static constexpr std::size_t kFirst = 65536;
  static constexpr std::chrono::milliseconds kStep{20}, kLongest{500};

  /// Has bodies that come slowly give way.
  [[nodiscard]] bool reserve(std::size_t bytes) {
    if (receiver_.reserve(bytes)) return true;
    const Admission::Need need(admission_);
    const auto end = std::chrono::steady_clock::now() + kLongest;
    while (admission_.wait_for_leave(kStep) && std::chrono::steady_clock::now() < end) {
      if (receiver_.reserve(bytes)) return true;
    }
    return false;
  }

  const Receiver& receiver_;
  Admission& admission_;
  std::size_t length_, reserved_ = 0;
  std::string bytes_;
};

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
            const httplib::ContentReader& read) {
    const std::size_t length = length_of(request).value_or(0);
    auto answer = receiver_.answer_early(posting_of(request));
    ComingBody body(receiver_, admission(), length);
    std::size_t came = 0;
    // What is refused is read all the same: a connection that is closed on a sender that still
    // sends would take the answer away from it.
    const bool is_read = read([&](const char* data, std::size_t size) {
      came += size;
      if (came > length) return false;
      if (!answer && !body.append(data, size)) answer = receiver_.answer_full();
      return true;
    });
    if (!answer) {
      const bool is_whole = is_read && came == length;
      answer = receiver_.take(is_whole ? std::optional(body.take()) : std::nullopt);
    }
    answer_with(response, std::move(*answer));
  }
};

}  // namespace
}  // namespace geiger::serve

geiger::serve::HttpServer* geiger_make_http_receiver(geiger::serve::Receiver* receiver) {
  return new geiger::serve::ReceivingServer(std::move(*receiver));
}
