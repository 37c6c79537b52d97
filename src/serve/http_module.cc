#include "serve/http_module.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "modules/module.h"

namespace geiger::serve {

namespace {

constexpr std::size_t kShortestToken = 8, kLongestToken = 128;

}  // namespace

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  return base::hex_of(bytes);
}

bool is_token(const std::string& text) {
  const auto is_allowed = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return text.size() >= kShortestToken && text.size() <= kLongestToken &&
         std::all_of(text.begin(), text.end(), is_allowed);
}

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
