#include "fleet/push/tokens.h"

#include <sys/stat.h>

#include <utility>

#include "base/same_secret.h"
#include "http/token_file.h"

namespace geiger::fleet {

bool Tokens::admit(const std::string& token) {
  const std::lock_guard lock(mutex_);
  struct stat file {};
  if (stat(path_.c_str(), &file) != 0) return false;
  const Version version{file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
  if (version != version_) {
    auto tokens = http::read_tokens(path_);
    tokens_ = tokens.has_value() ? std::move(tokens.value()) : std::vector<std::string>();
    version_ = version;
  }
  bool is_known = false;
  for (const std::string& known : tokens_) is_known |= base::is_same_secret(known, token);
  return is_known;
}

}  // namespace geiger::fleet
