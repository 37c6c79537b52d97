#include "control/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/unique_fd.h"
#include "trace/format.h"

namespace geiger::control {
namespace {

namespace fs = std::filesystem;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == '+';
}

std::string current_directory() {
  std::error_code error;
  return fs::current_path(error).string();
}

base::Outcome<bool> failure(const std::string& directory, const char* reason) {
  return base::Failure{fmt::format("cannot create {}: {}", directory, reason)};
}

// Fails if it contains anything but traces: then it is not ours to replace.
base::Outcome<bool> empty_run_directory(const std::string& directory) {
  std::error_code error;
  fs::directory_iterator entries(directory, error);
  if (error) return failure(directory, error.message().c_str());
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".geiger" || !entry.is_regular_file(error)) {
      return failure(directory, "it exists and contains other files");
    }
  }
  for (const auto& name : traces_in(directory))
    unlink(fmt::format("{}/{}", directory, name).c_str());
  return true;
}

/// An empty file or a trace; any other file is not ours to replace.
bool is_replaceable(const std::string& file, const struct stat& status) {
  if (!S_ISREG(status.st_mode) || status.st_size == 0) return true;
  std::ifstream stream(file, std::ios::binary);
  std::array<char, sizeof trace::kMagic> begin{};
  stream.read(begin.data(), begin.size());
  return stream && std::equal(begin.begin(), begin.end(), trace::kMagic);
}

}  // namespace

std::string name_for_files(const std::string& program) {
  std::string name = program.substr(program.rfind('/') + 1).substr(0, 64);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_plain(c); }, '_');
  return name.empty() ? "program" : name;
}

OutputPlan::OutputPlan(const std::string& program, const std::string& file)
    : base_(current_directory()),
      name_("geiger-" + name_for_files(program) + "."),
      shown_file_(file) {
  if (!file.empty()) file_ = file.front() == '/' ? file : base_ + "/" + file;
}

std::string parts_of(const std::string& file) { return file + ".parts"; }

std::string OutputPlan::directory_for(int pid) const {
  if (!file_.empty()) return parts_of(file_);
  if (base_.empty() || base_.front() != '/') return {};
  return (base_ == "/" ? base_ : base_ + "/") + name_ + std::to_string(pid);
}

std::string OutputPlan::shown_for(int pid) const {
  return file_.empty() ? name_ + std::to_string(pid) : shown_file_;
}

base::Outcome<void> check_writable(const std::string& file, bool replaces) {
  struct stat status {};
  if (stat(file.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return base::Failure{fmt::format("{} is a directory", file)};
    if (!replaces) return base::Failure{fmt::format("{} exists (-f replaces it)", file)};
    if (!is_replaceable(file, status)) {
      return base::Failure{fmt::format(
          "{} is not a geiger trace, so -f does not replace it: name another file", file)};
    }
  }
  const std::string parts = file + ".parts";
  if (!replaces && access(parts.c_str(), F_OK) == 0) {
    return base::Failure{fmt::format("{} exists (-f replaces it)", parts)};
  }
  return {};
}

base::Outcome<bool> create_run_directory(const std::string& directory, bool replaces) {
  if (directory.empty()) return failure("a run directory", "the current directory is gone");
  if (mkdir(directory.c_str(), 0700) == 0) return true;
  if (errno != EEXIST) return failure(directory, std::strerror(errno));
  if (!replaces) return failure(directory, "it exists (-f replaces it)");
  struct stat status {};
  if (lstat(directory.c_str(), &status) != 0) return failure(directory, std::strerror(errno));
  if (!S_ISDIR(status.st_mode)) return failure(directory, "it exists but is not a directory");
  // Another owner could replace the files in it.
  if (status.st_uid != geteuid()) return failure(directory, "it is owned by another user");
  return empty_run_directory(directory);
}

std::vector<std::string> traces_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".geiger") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

/// Forks a child that has all open files of this process until this process has ended.
void keep_files_open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  if (fork() != 0) return void(close(ends[0]));  // The other end is ours to the end.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, ends[1]}) close(fd);
  char none = 0;
  while (read(ends[0], &none, 1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

}  // namespace

void remove_run_directory(const std::string& directory) {
  std::vector<base::UniqueFd> files;
  for (const auto& name : traces_in(directory)) {
    const std::string path = fmt::format("{}/{}", directory, name);
    files.emplace_back(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    unlink(path.c_str());
  }
  rmdir(directory.c_str());
  // The last one to close a removed file waits for the disk to have written its pages, on a busy
  // one for seconds.
  if (!files.empty()) keep_files_open();
}

}  // namespace geiger::control
