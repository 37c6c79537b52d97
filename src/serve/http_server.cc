// Pages and profiles of one user. The module libgeiger-http.so: nothing else of geiger needs
// cpp-httplib, and with it OpenSSL.
#include <httplib.h>

#include <string_view>
#include <utility>

#include "base/text.h"
#include "serve/http_module.h"
#include "serve/loopback_server.h"

namespace geiger::serve {
namespace {

constexpr std::size_t kThreads = 32;
constexpr std::size_t kMostBody = 0;

class PageServer final : public LoopbackServer {
 public:
  PageServer(std::string token, Handler handler)
      : LoopbackServer(kThreads, kMostBody),
        token_(std::move(token)),
        handler_(std::move(handler)) {
    server().set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          answer(request, response);
          return httplib::Server::HandlerResponse::Handled;
        });
  }
  ~PageServer() override { stop(); }
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

 private:
  std::string token_;
  Handler handler_;

  /// The path after the token, if the request has it.
  [[nodiscard]] std::optional<std::string> admitted(const httplib::Request& request) const {
    const std::string_view path = request.path;
    const std::size_t end = path.find('/', 1);
    const std::string_view first = path.substr(1, end == path.npos ? path.npos : end - 1);
    if (!path.empty() && base::is_same_secret(first, token_)) {
      return std::string(end == path.npos ? "" : path.substr(end));
    }
    const bool has_token = request.has_param("token") &&
                           base::is_same_secret(request.get_param_value("token"), token_);
    return has_token ? std::optional(request.path) : std::nullopt;
  }

  /// Whether it wants the page, whose links and data lie beside it, and sends the token
  /// elsewhere than there.
  [[nodiscard]] bool wants_page_elsewhere(const httplib::Request& request) const {
    return request.path == "/" && base::is_same_secret(request.get_param_value("token"), token_);
  }

  void answer(const httplib::Request& request, httplib::Response& response) const {
    if (!is_meant(request))
      return answer_with(response, 403, "this server does not answer to that host name");
    if (request.method != "GET" && request.method != "HEAD") {
      response.set_header("Allow", "GET, HEAD");
      return answer_with(response, 405, "only GET and HEAD");
    }
    if (request.get_header_value("Sec-Fetch-Site") == "cross-site") {
      return answer_with(response, 403, "requests from other sites are refused");
    }
    auto path = admitted(request);
    if (!path) return answer_with(response, 403, "the token is missing or wrong");
    if (wants_page_elsewhere(request)) return response.set_redirect("/" + token_ + "/", 303);
    Request asked{*std::move(path), {}};
    for (const auto& [name, value] : request.params) {
      if (name != "token") asked.values.emplace(name, value);
    }
    answer_with(response, handler_(asked));
  }
};

}  // namespace
}  // namespace geiger::serve

geiger::serve::HttpServer* geiger_make_http_server(std::string* token,
                                                   geiger::serve::Handler* handler) {
  return new geiger::serve::PageServer(std::move(*token), std::move(*handler));
}
