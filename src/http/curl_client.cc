// The module libgeiger-http-client.so: all of geiger that needs libcurl.
#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "http/client.h"

namespace geiger::http {
namespace {

constexpr long kConnectSeconds = 10;
/// Slower than this for so long is as good as nothing.
constexpr long kLeastBytesPerSecond = 100;
constexpr long kSlowSeconds = 20;
constexpr std::size_t kMostLine = 200;

struct CleanUp {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

/// Where the body of an answer goes.
struct Body {
  CURL* handle;
  const Request& request;
  std::string& line;
};

std::size_t take_body(const char* data, std::size_t size, std::size_t count, void* into) {
  const Body& body = *static_cast<Body*>(into);
  const std::string_view piece(data, size * count);
  long status = 0;
  curl_easy_getinfo(body.handle, CURLINFO_RESPONSE_CODE, &status);
  if (body.request.take && (status < kNotOk || body.request.takes_failures)) {
    body.request.take(piece);
  } else {
    body.line.append(piece.substr(0, kMostLine - std::min(kMostLine, body.line.size())));
  }
  return piece.size();
}

int ask_whether_it_stops(void* stops, curl_off_t /*to_receive*/, curl_off_t /*received*/,
                         curl_off_t /*to_send*/, curl_off_t /*sent*/) {
  const auto& ask = *static_cast<std::function<bool()>*>(stops);
  return ask && ask() ? 1 : 0;
}

class CurlClient final : public Client {
 public:
  CurlClient(std::string url, std::function<bool()> stops)
      : url_(std::move(url)), stops_(std::move(stops)), handle_(curl_easy_init()) {}

  Answer send(const Request& request) override {
    Answer answer;
    if (handle_ == nullptr) {
      answer.problem = "libcurl cannot be set up";
      return answer;
    }
    curl_easy_reset(handle_.get());
    const auto headers = headers_of(request);
    const std::string url = url_ + request.target;
    Body body{handle_.get(), request, answer.line};
    set_up(url, headers.get(), request, body);
    std::array<char, CURL_ERROR_SIZE> problem{};
    curl_easy_setopt(handle_.get(), CURLOPT_ERRORBUFFER, problem.data());
    const CURLcode code = curl_easy_perform(handle_.get());
    curl_easy_setopt(handle_.get(), CURLOPT_ERRORBUFFER, nullptr);
    if (code != CURLE_OK) {
      answer.problem = problem[0] != '\0' ? problem.data() : curl_easy_strerror(code);
      return answer;
    }
    read_answer(answer);
    return answer;
  }

 private:
  using Headers = std::unique_ptr<curl_slist, CleanUp>;

  static Headers headers_of(const Request& request) {
    // Without a question whether the body is wanted: it is small, and the answer costs a journey.
    Headers headers(curl_slist_append(nullptr, "Expect:"));
    for (const std::string& header : request.headers) {
      curl_slist_append(headers.get(), header.c_str());
    }
    return headers;
  }

  void set_up(const std::string& url, curl_slist* headers, const Request& request, Body& body) {
    CURL* const handle = handle_.get();
    curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, "geiger/" GEIGER_VERSION);
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 2L);
    set_up_certificates(request.certificates);
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    if (!request.is_question) {
      curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
      curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, kLeastBytesPerSecond);
      curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, kSlowSeconds);
    }
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &take_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &ask_whether_it_stops);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &stops_);
    if (!request.body) return;
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body->data());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body->size()));
  }

  void set_up_certificates(const Certificates& certificates) {
    // As OpenSSL itself and curl's program: libcurl reads no environment.
    const char* const environment = std::getenv("SSL_CERT_FILE");
    const std::string authorities = certificates.authorities.empty() && environment != nullptr
                                        ? environment
                                        : certificates.authorities;
    for (const auto& [option, file] : {std::pair(CURLOPT_CAINFO, &authorities),
                                       {CURLOPT_SSLCERT, &certificates.certificate},
                                       {CURLOPT_SSLKEY, &certificates.key}}) {
      if (!file->empty()) curl_easy_setopt(handle_.get(), option, file->c_str());
    }
  }

  void read_answer(Answer& answer) {
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    if (const auto end = answer.line.find_first_of("\r\n"); end != std::string::npos) {
      answer.line.resize(end);
    }
    curl_header* date = nullptr;
    if (curl_easy_header(handle_.get(), "Date", 0, CURLH_HEADER, -1, &date) == CURLHE_OK) {
      const time_t time = curl_getdate(date->value, nullptr);
      if (time > 0) answer.date = time;
    }
    curl_off_t wait = 0;
    const bool waits =
        curl_easy_getinfo(handle_.get(), CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0;
    if (waits) answer.retry_after = wait;
  }

  std::string url_;
  std::function<bool()> stops_;
  std::unique_ptr<CURL, CleanUp> handle_;
};

}  // namespace
}  // namespace geiger::http

geiger::http::Client* geiger_make_http_client(const std::string* url,
                                              std::function<bool()>* stops) {
  static const CURLcode is_set_up = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(is_set_up);
  return new geiger::http::CurlClient(*url, std::move(*stops));
}
