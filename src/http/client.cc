#include "http/client.h"

#include <utility>

#include "modules/module.h"

namespace geiger::http {

base::Outcome<std::unique_ptr<Client>> make_client(const std::string& url,
                                                   std::function<bool()> stops) {
  const auto made =
      GEIGER_TRY(modules::call<decltype(geiger_make_http_client)>(
                     "libgeiger-http-client.so", "geiger_make_http_client", &url, &stops)
                     .with_prefix("cannot send over HTTP: "));
  return std::unique_ptr<Client>(made);
}

}  // namespace geiger::http
