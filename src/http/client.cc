#include "http/client.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "modules/module.h"

namespace geiger::http {

base::Outcome<Url> parse_url(const std::string& text, bool has_secrets) {
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
  if (url.scheme == "http" && !is_here && has_secrets) {
    return base::Failure{text + ": http:// is for this host only (127.0.0.1); use https://"};
  }
  return url;
}

namespace {

constexpr std::size_t kShortestSecret = 16, kLongestSecret = 512;

bool is_secret(const std::string& text) {
  return text.size() >= kShortestSecret && text.size() <= kLongestSecret &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

std::string without_end(std::string line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  return line;
}

}  // namespace

base::Outcome<std::vector<std::string>> read_tokens(const std::string& path) {
  struct stat file {};
  std::ifstream stream(path);
  if (!stream || stat(path.c_str(), &file) != 0) {
    return base::Failure{path + ": " + std::strerror(errno)};
  }
  if ((file.st_mode & S_IROTH) != 0) {
    return base::Failure{path + ": every user can read it; chmod o-r " + path};
  }
  if ((file.st_mode & S_IWOTH) != 0) {
    return base::Failure{path + ": every user can write it; chmod o-w " + path};
  }
  std::vector<std::string> tokens;
  std::string line;
  while (std::getline(stream, line)) {
    line = without_end(std::move(line));
    if (line.empty() || line.front() == '#') continue;
    if (!is_secret(line)) {
      return base::Failure{path + ": a token has 16 to 512 printable characters without blanks"};
    }
    tokens.push_back(line);
  }
  if (tokens.empty()) return base::Failure{path + ": it has no token"};
  return tokens;
}

base::Outcome<std::string> read_token(const std::string& path) {
  const auto tokens = GEIGER_TRY(read_tokens(path));
  return tokens.front();
}

base::Outcome<std::unique_ptr<Client>> make_client(const std::string& url,
                                                   std::function<bool()> stops) {
  const auto made =
      GEIGER_TRY(modules::call<decltype(geiger_make_http_client)>(
                     "libgeiger-http-client.so", "geiger_make_http_client", &url, &stops)
                     .with_prefix("cannot send over HTTP: "));
  return std::unique_ptr<Client>(made);
}

}  // namespace geiger::http
