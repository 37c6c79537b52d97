#include "foreign/open.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace geiger::foreign {
namespace {

constexpr int kCareful = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

base::UniqueFd open_resolved(int directory, const std::string& path, int flags, mode_t mode,
                             std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = resolve;
  constexpr int kTries = 16;  // EAGAIN: something on the path was renamed meanwhile.
  long opened = -1;
  for (int i = 0; i < kTries; ++i) {
    opened = syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
    if (opened >= 0 || errno != EAGAIN) break;
  }
  return base::UniqueFd(static_cast<int>(opened));
}

/// Without openat2: an old kernel, or a filter that does not know it.
bool is_unknown() { return errno == ENOSYS || errno == EPERM; }

/// One directory after another, none of which is a link.
base::UniqueFd walk(int directory, std::string_view path, int flags) {
  base::UniqueFd at(openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  while (at.is_open() && path.find('/') != path.npos) {
    const std::string part(base::take_part(path, '/'));
    if (part.empty()) continue;
    if (part == "..") {
      errno = ELOOP;
      return {};
    }
    at = base::UniqueFd(
        openat(at.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!at.is_open()) return {};
  const std::string last(path.empty() ? "." : path);
  if (last == "..") {
    errno = ELOOP;
    return {};
  }
  return base::UniqueFd(openat(at.get(), last.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
}

dev_t device_of(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_dev : 0;
}

}  // namespace

base::UniqueFd open_below(int directory, const std::string& path, int flags, Links links) {
  std::string below = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  if (below.empty()) below = ".";
  const std::uint64_t resolve =
      RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | (links == Links::kNone ? RESOLVE_NO_SYMLINKS : 0);
  base::UniqueFd file = open_resolved(directory, below, flags, 0, resolve);
  return file.is_open() || !is_unknown() ? std::move(file) : walk(directory, below, flags);
}

base::UniqueFd open_entry(int directory, const std::string& name, int flags, mode_t mode) {
  GEIGER_ASSERT(name.find('/') == name.npos);
  flags |= O_NOFOLLOW | ((flags & O_PATH) != 0 ? O_CLOEXEC : kCareful);
  base::UniqueFd file = open_resolved(
      directory, name, flags, mode,
      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
  if (file.is_open() || !is_unknown()) return file;
  file = base::UniqueFd(openat(directory, name.c_str(), flags, mode));
  if (file.is_open() && device_of(file.get()) != device_of(directory)) {
    file.reset();
    errno = EXDEV;
  }
  return file;
}

base::UniqueFd reopen_regular(const base::UniqueFd& found, int flags) {
  struct stat status {};
  if (!found.is_open() || fstat(found.get(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode)) {
    errno = S_ISLNK(status.st_mode) ? ELOOP : EINVAL;
    return {};
  }
  const std::string link = "/proc/self/fd/" + std::to_string(found.get());
  return base::UniqueFd(::open(link.c_str(), flags | kCareful));
}

base::UniqueFd open_regular(const std::string& path, int flags) {
  const base::UniqueFd found(::open(path.c_str(), O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW)));
  base::UniqueFd file = reopen_regular(found, flags & ~O_NOFOLLOW);
  if (file.is_open() || !found.is_open() || errno != ENOENT) return file;
  // Without /proc.
  file = base::UniqueFd(::open(path.c_str(), flags | kCareful));
  struct stat status {};
  const bool is_it = file.is_open() && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
  return is_it ? std::move(file) : base::UniqueFd();
}

}  // namespace geiger::foreign
