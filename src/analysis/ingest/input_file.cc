#include "analysis/ingest/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "foreign/open.h"

namespace geiger::ingest {

FileOutcome InputFile::open(const std::string& path) {
  return take(foreign::open_regular(path, O_RDONLY), path);
}

FileOutcome InputFile::take(base::UniqueFd file, const std::string& path) {
  path_ = path;
  descriptor_ = std::move(file);
  if (!descriptor_.is_open()) {
    if (errno == EINVAL) return Error{path, std::nullopt, "not a regular file"};
    return system_error(path, "cannot be opened");
  }
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) return system_error(path, "cannot be examined");
  size_ = static_cast<std::uint64_t>(status.st_size);
  inode_ = status.st_ino;
  mode_ = status.st_mode & 07777;
  return {};
}

std::size_t read_at(int descriptor, std::uint64_t offset, std::span<std::byte> buffer) {
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t count = ::pread(descriptor, buffer.data() + done, buffer.size() - done,
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace geiger::ingest
