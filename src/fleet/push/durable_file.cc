#include "fleet/push/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"

namespace geiger::fleet {
namespace {

constexpr const char* kTemporary = ".tmp";
constexpr mode_t kOwnerOnly = 0600;

base::Failure failure_of(const std::string& path) {
  return base::Failure{path + ": " + std::strerror(errno)};
}

base::Outcome<void> sync_directory(const std::string& path) {
  const base::UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || fsync(directory.get()) != 0) return failure_of(path);
  return {};
}

base::Outcome<void> write_new(const std::string& path, std::string_view bytes) {
  const base::UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  if (!file.is_open()) return failure_of(path);
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failure_of(path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(file.get()) != 0) return failure_of(path);
  return {};
}

}  // namespace

base::Outcome<void> write_durably(const std::string& directory, const std::string& name,
                                  std::string_view bytes) {
  const std::string path = directory + "/" + name;
  const std::string temporary = path + kTemporary;
  auto written = write_new(temporary, bytes);
  if (written.has_value()) written = rename_durably(temporary, path);
  if (!written.has_value()) unlink(temporary.c_str());
  return written;
}

base::Outcome<void> rename_durably(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return failure_of(to);
  return sync_directory(std::filesystem::path(to).parent_path());
}

base::Outcome<void> make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failure_of(path);
  return {};
}

void remove_temporary(const std::string& directory) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == kTemporary) unlink(entry->path().c_str());
  }
}

base::Outcome<std::string> read_whole(const std::string& path, std::size_t most) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > most) return base::Failure{path + ": it is larger than it can be"};
  std::ifstream stream(path, std::ios::binary);
  if (error || !stream) return failure_of(path);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

}  // namespace geiger::fleet
