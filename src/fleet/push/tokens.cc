#include "fleet/push/tokens.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/same_secret.h"

namespace geiger::fleet {
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

/// The lines that are tokens.
base::Outcome<std::vector<std::string>> tokens_in(const std::string& path) {
  struct stat file {};
  std::ifstream stream(path);
  if (!stream || stat(path.c_str(), &file) != 0) {
    return base::Failure{path + ": " + std::strerror(errno)};
  }
  if ((file.st_mode & S_IROTH) != 0) {
    return base::Failure{path + ": every user can read it; chmod o-r " + path};
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

}  // namespace

base::Outcome<std::string> read_token(const std::string& path) {
  const auto tokens = tokens_in(path);
  if (!tokens.has_value()) return tokens.failure();
  return tokens->front();
}

base::Outcome<std::vector<std::string>> Tokens::read(const std::string& path) {
  return tokens_in(path);
}

bool Tokens::admit(const std::string& token) {
  const std::lock_guard lock(mutex_);
  struct stat file {};
  if (stat(path_.c_str(), &file) != 0) return false;
  const Version version{file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
  if (version != version_) {
    auto tokens = tokens_in(path_);
    tokens_ = tokens.has_value() ? std::move(tokens.value()) : std::vector<std::string>();
    version_ = version;
  }
  bool is_known = false;
  for (const std::string& known : tokens_) is_known |= base::is_same_secret(known, token);
  return is_known;
}

}  // namespace geiger::fleet
