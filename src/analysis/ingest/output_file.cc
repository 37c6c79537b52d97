#include "analysis/ingest/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace geiger::ingest {

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

FileOutcome OutputFile::create(const std::string& path, std::optional<unsigned> mode) {
  path_ = path;
  const std::string name = fmt::format("{}.{}.part", path, ::getpid());
  descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       mode.value_or(0666));
  if (descriptor_ < 0) return system_error(name, "cannot be created");
  temporary_ = name;
  if (mode && ::fchmod(descriptor_, *mode) != 0)
    return system_error(name, "its mode cannot be set");
  return {};
}

FileOutcome OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path_, "cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

FileOutcome OutputFile::commit(bool replace) {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  // Some file systems report a full disk only here.
  if (::close(descriptor) != 0) return system_error(path_, "cannot be written");
  const unsigned flags = replace ? 0U : RENAME_NOREPLACE;
  int result = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), flags);
  if (result != 0 && errno == EINVAL && !replace) {
    // A file system without RENAME_NOREPLACE: a hard link refuses just as well.
    result = ::link(temporary_.c_str(), path_.c_str());
    if (result == 0) ::unlink(temporary_.c_str());
  }
  if (result != 0) return system_error(path_, "cannot be renamed");
  temporary_.clear();
  return {};
}

}  // namespace geiger::ingest
