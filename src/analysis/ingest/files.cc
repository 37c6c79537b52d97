#include "analysis/ingest/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "foreign/open.h"

namespace geiger::ingest {

std::string Error::text() const {
  if (!offset) return fmt::format("{}: {}", path, reason);
  return fmt::format("{}: offset {}: {}", path, *offset, reason);
}

Error system_error(const std::string& path, const char* tried) {
  const int code = errno;
  const std::string cause = std::generic_category().message(code);
  return {path, std::nullopt, fmt::format("{}: {}", tried, cause), code == ENOENT};
}

Error trace_fault(const std::string& path, std::uint64_t image_offset,
                  const trace::TraceError& fault) {
  std::string reason{trace::reason_of(fault.fault)};
  switch (fault.fault) {
    case trace::Fault::kTooShort:
      reason = fmt::format("{} ({} bytes)", reason, fault.found);
      break;
    case trace::Fault::kOtherVersion:
      reason = fmt::format("unknown trace format version {}: this geiger reads version {}",
                           fault.found, trace::kVersion);
      break;
    case trace::Fault::kBadHeaderSize:
      reason = fmt::format("{} ({})", reason, fault.found);
      break;
    case trace::Fault::kCut:
      reason = fmt::format("{}: its records should end at {}", reason, image_offset + fault.found);
      break;
    default:
      break;
  }
  return {path, image_offset + fault.offset, reason};
}

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

FileOutcome OutputFile::make_durable(unsigned owner, unsigned group) {
  if (::fchown(descriptor_, owner, group) != 0)
    return system_error(path_, "its owner cannot be kept");
  if (::fsync(descriptor_) != 0) return system_error(path_, "cannot be written");
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
