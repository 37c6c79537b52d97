// The tokens that a collector takes: a file of them, one a line, read again when it changes.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace geiger::fleet {

class Tokens {
 public:
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
