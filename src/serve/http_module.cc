#include "serve/http_module.h"

#include "base/module_function.h"

namespace geiger::serve {
namespace {

template <typename Function>
Function* function_in(const std::string& directory, const char* name, std::string& reason) {
  return base::module_function<Function>(directory + "/" + kHttpModule, name, reason);
}

}  // namespace

std::unique_ptr<HttpServer> load_http_server(const std::string& directory, std::string token,
                                             Handler handler, std::string& reason) {
  auto* const make =
      function_in<decltype(geiger_make_http_server)>(directory, kMakeHttpServer, reason);
  return std::unique_ptr<HttpServer>(make != nullptr ? make(&token, &handler) : nullptr);
}

std::unique_ptr<HttpServer> load_http_receiver(const std::string& directory, Receiver receiver,
                                               std::string& reason) {
  auto* const make =
      function_in<decltype(geiger_make_http_receiver)>(directory, kMakeHttpReceiver, reason);
  return std::unique_ptr<HttpServer>(make != nullptr ? make(&receiver) : nullptr);
}

}  // namespace geiger::serve
