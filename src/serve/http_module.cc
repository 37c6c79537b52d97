#include "serve/http_module.h"

#include "modules/module.h"

namespace geiger::serve {

base::Outcome<std::unique_ptr<HttpServer>> load_http_server(std::string token, Handler handler) {
  const auto made = modules::call<decltype(geiger_make_http_server)>(kHttpModule, kMakeHttpServer,
                                                                     &token, &handler);
  if (!made.has_value()) return made.failure();
  return std::unique_ptr<HttpServer>(made.value());
}

}  // namespace geiger::serve
