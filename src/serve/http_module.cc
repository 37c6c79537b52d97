#include "serve/http_module.h"

#include "modules/module.h"

namespace geiger::serve {
namespace {

template <typename Make, typename... Arguments>
base::Outcome<std::unique_ptr<HttpServer>> made_by(const char* name, Arguments... arguments) {
  const auto made = GEIGER_TRY(modules::call<Make>(kHttpModule, name, arguments...));
  return std::unique_ptr<HttpServer>(made);
}

}  // namespace

base::Outcome<std::unique_ptr<HttpServer>> load_http_server(std::string token, Handler handler) {
  return made_by<decltype(geiger_make_http_server)>(kMakeHttpServer, &token, &handler);
}

base::Outcome<std::unique_ptr<HttpServer>> load_http_receiver(Receiver receiver) {
  return made_by<decltype(geiger_make_http_receiver)>(kMakeHttpReceiver, &receiver);
}

}  // namespace geiger::serve
