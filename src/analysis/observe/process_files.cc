#include "analysis/observe/process_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace geiger::observe {
namespace {

constexpr std::size_t kMostThreads = 1000;
constexpr std::size_t kMostText = std::size_t{64} << 20;

std::optional<std::string> read_all(int fd) {
  std::string text;
  std::size_t used = 0;
  while (true) {
    if (text.size() - used < 4096) text.resize(std::max<std::size_t>(8192, 2 * text.size()));
    const ssize_t count = ::read(fd, text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    used += static_cast<std::size_t>(count);
    if (count == 0 || used >= kMostText) break;
  }
  text.resize(used);
  return text;
}

}  // namespace

ProcessFiles::ProcessFiles(pid_t pid)
    : directory_(::open(fmt::format("/proc/{}", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
}

base::UniqueFd ProcessFiles::open(const char* name) const {
  return base::UniqueFd(::openat(directory_.get(), name, O_RDONLY | O_CLOEXEC));
}

std::optional<std::string> ProcessFiles::read(const char* name) const {
  const base::UniqueFd file = open(name);
  if (!file.is_open()) return std::nullopt;
  return read_all(file.get());
}

std::optional<Status> ProcessFiles::status() const {
  const auto text = read("status");
  return text ? parse_status(*text) : std::nullopt;
}

std::vector<Address> ProcessFiles::stack_pointers() const {
  std::vector<Address> pointers;
  const int fd = ::openat(directory_.get(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(fd < 0 ? nullptr : ::fdopendir(fd), &::closedir);
  if (!tasks) return pointers;
  for (const dirent* entry = ::readdir(tasks.get()); entry != nullptr;
       entry = ::readdir(tasks.get())) {
    if (entry->d_name[0] == '.' || pointers.size() >= kMostThreads) continue;
    const auto text = read(fmt::format("task/{}/syscall", entry->d_name).c_str());
    if (!text) continue;
    if (const auto pointer = parse_stack_pointer(*text)) pointers.push_back(*pointer);
  }
  return pointers;
}

}  // namespace geiger::observe
