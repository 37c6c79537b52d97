#include "query/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "analysis/present/format.h"

namespace geiger::query {
namespace {

/// As most distributions set umask to 002 where every user has a group of their own, a file that
/// the caller's own group may write is the caller's.
bool is_writable_by_others(const struct stat& status) {
  const bool by_group = (status.st_mode & S_IWGRP) != 0 && status.st_gid != ::getegid();
  return by_group || (status.st_mode & S_IWOTH) != 0;
}

base::Outcome<void> check_owner(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return base::Failure{"it is not a regular file"};
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return base::Failure{"it is owned by another user"};
  }
  if (is_writable_by_others(status)) return base::Failure{"other users may write it"};
  return {};
}

}  // namespace

base::Outcome<std::string> read_text(const base::UniqueFd& file, const std::string& path) {
  std::string text(kMostTextBytes + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) {
      return base::Failure{fmt::format("{}: {}", path, std::strerror(errno))};
    }
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  if (size > kMostTextBytes) {
    return base::Failure{
        fmt::format("{}: too large (at most {})", path, present::exact_bytes(kMostTextBytes))};
  }
  text.resize(size);
  return text;
}

base::Outcome<std::string> read_text_file(const std::string& path) {
  const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return base::Failure{fmt::format("{}: {}", path, std::strerror(errno))};
  return read_text(file, path);
}

base::Outcome<base::UniqueFd> open_own_file(const std::string& path) {
  // What is checked is what is read: the file is opened once. A FIFO must not block.
  base::UniqueFd file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open()) {
    if (errno == ENOENT) return file;
    if (errno == ELOOP) return base::Failure{"it is a symbolic link"};
    return base::Failure{std::strerror(errno)};
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return base::Failure{std::strerror(errno)};
  GEIGER_TRY(check_owner(status));
  return file;
}

}  // namespace geiger::query
