#include "runtime/unwind/module_paths.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "base/raw_syscall.h"

namespace geiger::unwind {
namespace {

constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kRoom = std::size_t{1} << 20;
constinit char g_paths[kRoom]{};
constinit std::atomic<std::size_t> g_taken{0};

/// Reads /proc/self/maps for the file at `start`, and copies up to `capacity` bytes of its path,
/// without the mark of deleted files. Returns its length; 0: not known, or the program has confined
/// itself.
std::size_t mapped_path(std::uint64_t start, char* path, std::size_t capacity) {
  constexpr char kDeleted[] = " (deleted)";
  constexpr std::size_t kMark = sizeof kDeleted - 1;
  const long maps = base::raw_syscall(
      SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/maps"), O_RDONLY | O_CLOEXEC, 0);
  if (base::is_error(maps)) return 0;
  char text[256];
  char end[kMark]{};  // The last bytes of the path.
  std::uint64_t address = 0;
  std::size_t length = 0;
  bool is_address = true, is_done = false;
  while (!is_done) {
    const long bytes = base::raw_syscall(SYS_read, maps, reinterpret_cast<long>(text), sizeof text);
    if (base::is_error(bytes) || bytes == 0) break;
    for (long i = 0; i < bytes && !is_done; ++i) {
      const char c = text[i];
      is_done = c == '\n' && length > 0;
      if (c == '\n') {
        address = 0;
        is_address = true;
      } else if (is_address) {
        is_address = c != '-';
        const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
        if (is_address) address = address << 4 | static_cast<std::uint64_t>(digit);
      } else if (address == start && (c == '/' || length > 0)) {
        if (length < capacity) path[length] = c;
        std::memmove(end, end + 1, kMark - 1);
        end[kMark - 1] = c;
        ++length;
      }
    }
  }
  base::raw_syscall(SYS_close, maps);
  if (length > kMark && std::memcmp(end, kDeleted, kMark) == 0) length -= kMark;
  return length <= kMaxPath ? length : 0;
}

/// Room for a text of `bytes` bytes and its NUL; null if it does not fit.
char* room_for(std::size_t bytes) {
  if (g_taken.load(std::memory_order_relaxed) > kRoom) return nullptr;
  const std::size_t at = g_taken.fetch_add(bytes + 1, std::memory_order_relaxed);
  return at + bytes < kRoom ? g_paths + at : nullptr;
}

}  // namespace

const char* keep_path(const char* name, std::uint64_t start) {
  if (name == nullptr || *name == '\0') return "";
  // What the program opened as "./plugin.so" is so only in the directory where it was then.
  const bool is_relative = *name != '/' && std::strchr(name, '/') != nullptr;
  const std::size_t mapped = is_relative ? mapped_path(start, nullptr, 0) : 0;
  const std::size_t bytes = mapped != 0 ? mapped : ::strnlen(name, kMaxPath);
  char* const path = room_for(bytes);
  if (path == nullptr) return "";
  if (mapped == 0 || mapped_path(start, path, mapped) != mapped) {
    std::memcpy(path, name, std::min(bytes, ::strnlen(name, kMaxPath)));
  }
  return path;
}

}  // namespace geiger::unwind
