// The files of /proc/PID of exactly one process: a process id may soon belong to another process,
// the opened directory does not.
//
// Only reads, and only what the kernel answers from its own books: nothing here stops,
// signals or traces the process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace geiger::observe {

/// A descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

class ProcessFiles {
 public:
  explicit ProcessFiles(pid_t pid);

  [[nodiscard]] bool is_open() const { return directory_.is_open(); }
  /// Opens a file below /proc/PID; closed if that is refused, with errno set.
  [[nodiscard]] Descriptor open(const char* name) const;
  /// All of a file, at most 64 MiB; nothing if it cannot be read.
  [[nodiscard]] std::optional<std::string> read(const char* name) const;
  /// The stack pointers of its threads, of the first thousand that could be read.
  [[nodiscard]] std::vector<Address> stack_pointers() const;

 private:
  Descriptor directory_;
};

}  // namespace geiger::observe
