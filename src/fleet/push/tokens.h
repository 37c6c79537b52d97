// The tokens that a collector takes: a file of them, one a line, read again when it changes.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/outcome.h"

namespace geiger::fleet {

/// The token in a file: its first line. Fails if it is not one of 16 to 512 printable characters,
/// or if other users may read the file.
[[nodiscard]] base::Outcome<std::string> read_token(const std::string& path);

class Tokens {
 public:
  /// Empty lines and those that begin with '#' are none. Fails if there is no token in it.
  [[nodiscard]] static base::Outcome<std::vector<std::string>> read(const std::string& path);

  /// Of a file that was read without failure.
  explicit Tokens(std::string path) : path_(std::move(path)) {}
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  /// Whether the file has this token now. If it cannot be read any more nothing is admitted.
  /// Threads: any.
  [[nodiscard]] bool admit(const std::string& token);

 private:
  /// Tells states of a file apart: inode, size, time.
  using Version = std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;

  std::string path_;
  std::mutex mutex_;
  Version version_{};
  std::vector<std::string> tokens_;
};

}  // namespace geiger::fleet
