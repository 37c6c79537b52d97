// URLs of servers, as users type them.
#pragma once

#include <string>

#include "base/outcome.h"

namespace geiger::http {

struct Url {
  std::string scheme;  ///< "https", or "http" to the loopback interface.
  std::string user;    ///< Empty: none.
  std::string host;    ///< With brackets, if it has some.
  std::string port;    ///< Empty: the usual one.
  std::string path;    ///< From "/" on; empty: none.
};

/// Fails where secrets would travel readable: over http to another host, or in the URL itself.
[[nodiscard]] base::Outcome<Url> parse_url(const std::string& text);

}  // namespace geiger::http
