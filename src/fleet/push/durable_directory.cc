#include "fleet/push/durable_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace geiger::fleet {
namespace {

constexpr const char* kTemporary = ".tmp";
constexpr mode_t kOwnerOnly = 0600;

base::Failure failure_at(const std::string& path) {
  return base::Failure{path + ": " + std::strerror(errno)};
}

}  // namespace

base::Outcome<DurableDirectory> DurableDirectory::open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failure_at(path);
  return checked(path, base::UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
                 Sharing::kAsTmp);
}

base::Outcome<DurableDirectory> DurableDirectory::open_inside(const std::string& name) const {
  if (mkdirat(directory_.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
    return failure_of(name);
  }
  return checked(path_of(name),
                 base::UniqueFd(openat(directory_.get(), name.c_str(),
                                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
                 Sharing::kNone);
}

base::Outcome<DurableDirectory> DurableDirectory::checked(std::string path,
                                                          base::UniqueFd directory,
                                                          Sharing sharing) {
  struct stat status {};
  if (!directory.is_open() || fstat(directory.get(), &status) != 0) return failure_at(path);
  if (geteuid() == 0) {
    if (status.st_uid != 0) return base::Failure{path + ": is not root's"};
    const bool is_as_tmp = sharing == Sharing::kAsTmp && (status.st_mode & S_ISVTX) != 0;
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_as_tmp) {
      return base::Failure{path + ": other users can write it; chmod go-w " + path};
    }
  }
  return DurableDirectory(std::move(path), std::move(directory));
}

base::Failure DurableDirectory::failure_of(const std::string& name) const {
  return failure_at(path_of(name));
}

base::Outcome<void> DurableDirectory::write(const std::string& name, std::string_view bytes) const {
  const std::string temporary = name + kTemporary;
  auto written = write_new(temporary, bytes);
  if (written.has_value()) written = move(temporary, *this, name);
  if (!written.has_value()) remove(temporary);
  return written;
}

base::Outcome<void> DurableDirectory::write_new(const std::string& name,
                                                std::string_view bytes) const {
  const base::UniqueFd file(openat(directory_.get(), name.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                                   kOwnerOnly));
  if (!file.is_open()) return failure_of(name);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failure_of(name);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(file.get()) != 0) return failure_of(name);
  return {};
}

base::Outcome<void> DurableDirectory::move(const std::string& name, const DurableDirectory& to,
                                           const std::string& new_name) const {
  const bool is_done =
      renameat(directory_.get(), name.c_str(), to.directory_.get(), new_name.c_str()) == 0 &&
      fsync(to.directory_.get()) == 0;
  return is_done ? base::Outcome<void>() : to.failure_of(new_name);
}

base::Outcome<std::string> DurableDirectory::read(const std::string& name, std::size_t most) const {
  const base::UniqueFd file(
      openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || fstat(file.get(), &status) != 0) return failure_of(name);
  if (!S_ISREG(status.st_mode)) return base::Failure{path_of(name) + ": is not a regular file"};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > most) return base::Failure{path_of(name) + ": it is larger than it can be"};
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_of(name);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

bool DurableDirectory::has(const std::string& name) const {
  return faccessat(directory_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void DurableDirectory::remove(const std::string& name) const {
  unlinkat(directory_.get(), name.c_str(), 0);
}

std::map<std::string, Bytes> DurableDirectory::tidied() const {
  std::map<std::string, Bytes> sizes;
  // Of its own: reading moves the place in the directory.
  base::UniqueFd again(openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(again.get()), closedir);
  if (!entries) return sizes;
  static_cast<void>(again.release());
  while (const dirent* entry = readdir(entries.get())) {
    const std::string name = entry->d_name;
    struct stat status {};
    if (name.ends_with(kTemporary)) {
      remove(name);
    } else if (fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISREG(status.st_mode)) {
      sizes[name] = static_cast<Bytes>(status.st_size);
    }
  }
  return sizes;
}

base::Outcome<base::UniqueFd> DurableDirectory::lock(const std::string& name) const {
  base::UniqueFd file(openat(directory_.get(), name.c_str(),
                             O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  if (!file.is_open()) return failure_of(name);
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) file.reset();
  return file;
}

}  // namespace geiger::fleet
