#include "control/outer_pid.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include "control/target_process.h"
#include "trace/format.h"

namespace geiger::control {
namespace {

bool maps_inode(const observe::ProcessFiles& files, std::uint64_t inode) {
  const auto maps = files.read("maps");
  return maps && std::ranges::any_of(mapped_files_in(*maps), [&](const MappedFile& file) {
           return file.inode == inode && file.is_shared;
         });
}

bool has_inner_pid(const observe::ProcessFiles& files, std::uint32_t inner_pid) {
  const auto facts = facts_of(files);
  return facts && facts->inner_pid == inner_pid;
}

}  // namespace

bool is_in_other_pid_namespace(pid_t pid) {
  struct stat ours {};
  struct stat its {};
  return stat("/proc/self/ns/pid", &ours) == 0 &&
         stat(fmt::format("/proc/{}/ns/pid", pid).c_str(), &its) == 0 && ours.st_ino != its.st_ino;
}

pid_t outer_pid_of(std::uint32_t inner_pid, int trace_fd) {
  struct stat trace {};
  if (fstat(trace_fd, &trace) != 0) return 0;
  const auto is_it = [&](pid_t pid) {
    const observe::ProcessFiles files(pid);
    return has_inner_pid(files, inner_pid) && maps_inode(files, trace.st_ino);
  };
  if (is_it(static_cast<pid_t>(inner_pid))) return static_cast<pid_t>(inner_pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(opendir("/proc"), &closedir);
  for (const dirent* entry = processes ? readdir(processes.get()) : nullptr; entry != nullptr;
       entry = readdir(processes.get())) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid > 0 && is_it(pid)) return pid;
  }
  return 0;
}

void record_outer_pid(int trace_fd, std::uint32_t outer_pid) {
  static_cast<void>(
      pwrite(trace_fd, &outer_pid, sizeof outer_pid, offsetof(trace::FileHeader, outer_pid)));
}

}  // namespace geiger::control
