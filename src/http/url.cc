#include "http/url.h"

#include <algorithm>
#include <string_view>

namespace geiger::http {

base::Outcome<Url> parse_url(const std::string& text) {
  constexpr std::string_view kSeparator = "://";
  const std::size_t scheme_end = text.find(kSeparator);
  Url url;
  url.scheme = text.substr(0, scheme_end);
  if (scheme_end == std::string::npos || (url.scheme != "https" && url.scheme != "http")) {
    return base::Failure{text + ": https://HOST is expected"};
  }
  std::string_view rest = std::string_view(text).substr(scheme_end + kSeparator.size());
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  url.path = rest.substr(authority.size());
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    url.user = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    if (url.user.empty() || url.user.find(':') != std::string::npos) {
      return base::Failure{"a URL must not contain secrets: use --token-file"};
    }
  }
  url.host = authority.starts_with('[') ? authority.substr(0, authority.find(']') + 1)
                                        : authority.substr(0, authority.find(':'));
  authority.remove_prefix(url.host.size());
  if (authority.starts_with(':')) url.port = authority.substr(1);
  const bool is_number = std::ranges::all_of(url.port, [](char c) { return c >= '0' && c <= '9'; });
  if (url.host.empty()) return base::Failure{text + ": it has no host"};
  if (!is_number || (!authority.empty() && url.port.empty())) {
    return base::Failure{text + ": its port is not a number"};
  }
  const bool is_here = url.host == "127.0.0.1" || url.host == "localhost" || url.host == "[::1]";
  if (url.scheme == "http" && !is_here) {
    return base::Failure{text + ": http:// is for this host only (127.0.0.1); use https://"};
  }
  return url;
}

}  // namespace geiger::http
