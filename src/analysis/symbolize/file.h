// A file descriptor that closes itself, and whole reads and writes on it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace geiger::symbolize {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

/// Opens `path` for reading if it is a regular file: a FIFO or a device that a
/// trace names must not block or do worse.
[[nodiscard]] FileDescriptor open_regular(const std::string& path);

/// The rest of the file, or nothing on an error or beyond `max_bytes`.
[[nodiscard]] std::optional<std::string> read_all(const FileDescriptor& file,
                                                  std::size_t max_bytes);

/// Writes all of `bytes`; false on an error.
[[nodiscard]] bool write_all(const FileDescriptor& file, std::string_view bytes);

}  // namespace geiger::symbolize
