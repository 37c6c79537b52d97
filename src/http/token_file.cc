#include "http/token_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace geiger::http {
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

}  // namespace geiger::http
