#include "serve/http_module.h"

#include <dlfcn.h>

namespace geiger::serve {

std::unique_ptr<HttpServer> load_http_server(const std::string& directory, std::string token,
                                             Handler handler, std::string& reason) {
  const std::string path = directory + "/" + kHttpModule;
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const make = module != nullptr ? dlsym(module, kMakeHttpServer) : nullptr;
  if (make == nullptr) {
    reason = dlerror();
    return nullptr;
  }
  const auto call = reinterpret_cast<decltype(&geiger_make_http_server)>(make);
  return std::unique_ptr<HttpServer>(call(&token, &handler));
}

}  // namespace geiger::serve
