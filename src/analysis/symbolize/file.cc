#include "analysis/symbolize/file.h"

#include <unistd.h>

#include <cerrno>

namespace geiger::symbolize {

std::optional<std::string> read_all(const base::UniqueFd& file, std::size_t max_bytes) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string bytes;
  while (bytes.size() <= max_bytes) {
    const std::size_t had = bytes.size();
    bytes.resize(had + kPiece);
    const ssize_t got = ::read(file.get(), bytes.data() + had, kPiece);
    bytes.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR) return std::nullopt;
  }
  return std::nullopt;
}

bool write_all(const base::UniqueFd& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace geiger::symbolize
