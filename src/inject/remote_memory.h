// Reads and writes the memory of another process without stopping it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

namespace geiger::inject {

using Address = std::uint64_t;

/// Threads: any. Nothing throws; an unmapped address is a failure.
class RemoteMemory {
 public:
  explicit RemoteMemory(pid_t pid) : pid_(pid) {}

  [[nodiscard]] bool read(Address from, void* to, std::size_t bytes) const;
  /// Reads as far as memory is mapped; returns the number of bytes read.
  [[nodiscard]] std::size_t read_some(Address from, void* to, std::size_t bytes) const;
  [[nodiscard]] bool write(Address to, const void* from, std::size_t bytes) const;

  template <typename T>
  [[nodiscard]] std::optional<T> get(Address from) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    if (!read(from, &value, sizeof value)) return std::nullopt;
    return value;
  }
  /// Up to the NUL, at most 4 KiB.
  [[nodiscard]] std::string text(Address from) const;

 private:
  pid_t pid_;
};

}  // namespace geiger::inject
