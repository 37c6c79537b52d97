#include "control/target_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "analysis/observe/proc_files.h"
#include "base/text.h"
#include "control/control_page.h"
#include "trace/format.h"
#include "trace/rendezvous.h"

namespace geiger::control {

using inject::Confinement;
using inject::ProcessFacts;

namespace {

constexpr std::string_view kRuntime = "libgeiger-preload.so";
constexpr std::string_view kTraceSuffix = ".geiger";
constexpr std::string_view kDeleted = " (deleted)";  ///< The kernel's mark.

}  // namespace

bool is_confined_beyond(const Confinement& ours, const Confinement& its) {
  if (its.mode == 0) return false;
  return its.filters == 0 || !(its == ours);
}

std::optional<ProcessFacts> facts_of(const observe::ProcessFiles& files) {
  const auto status = files.read("status");
  const auto stat = files.read("stat");
  return status && stat ? inject::parse_facts(*status, *stat) : std::nullopt;
}

std::vector<MappedFile> mapped_files_in(std::string_view maps) {
  std::vector<MappedFile> files;
  for (const auto& mapping : observe::parse_smaps(maps)) {
    if (!mapping.path.starts_with('/')) continue;
    const auto same = [&](const MappedFile& file) {
      return file.inode == mapping.inode && file.path == mapping.path &&
             file.device == mapping.device;
    };
    if (std::any_of(files.begin(), files.end(), same)) continue;
    files.push_back({{mapping.path, mapping.device, mapping.inode, mapping.start, mapping.end},
                     mapping.is_shared,
                     mapping.is_writable});
  }
  return files;
}

GeigerFiles geiger_files_in(const std::vector<MappedFile>& files) {
  GeigerFiles found;
  for (MappedFile file : files) {
    file.is_deleted = file.path.ends_with(kDeleted);
    if (file.is_deleted) file.path.resize(file.path.size() - kDeleted.size());
    const std::string_view name = base::file_name_of(file.path);
    if (name == kRuntime) found.has_runtime = true;
    if (!file.is_shared) continue;
    // Only what it may write itself: geiger writes there too, maybe as root.
    if (name.ends_with(kTraceSuffix) && file.is_writable) found.traces.push_back(file);
    const bool is_in_ours =
        base::file_name_of(file.path.substr(0, file.path.rfind('/'))).starts_with("geiger");
    if (name == trace::kBellName && is_in_ours) found.bell = file;
    if (trace::is_rendezvous_name(std::string(name).c_str()) && is_in_ours && file.is_writable) {
      found.rendezvous.push_back(file);
    }
  }
  return found;
}

base::Outcome<TargetProcess> TargetProcess::open(pid_t pid) {
  TargetProcess target(pid);
  const auto status = target.files_.read("status");
  const auto stat = target.files_.read("stat");
  if (!status || !stat) return base::Failure{fmt::format("there is no process {}", pid)};
  const auto facts = inject::parse_facts(*status, *stat);
  if (!facts) return base::Failure{fmt::format("cannot parse the files in /proc/{}", pid)};
  target.facts_ = *facts;
  if (facts->group != pid) {
    return base::Failure{fmt::format("{} is a thread of process {}", pid, facts->group)};
  }
  if (facts->is_zombie()) return base::Failure{target.shown() + " has ended"};
  if (geteuid() != 0 && facts->uid != geteuid()) {
    return base::Failure{target.shown() + " belongs to another user (root may ask)"};
  }
  if (!target.root_) {
    return base::Failure{
        fmt::format("{} cannot be read: {} (ptrace(2) must be permitted: same user, dumpable, or "
                    "CAP_SYS_PTRACE)",
                    target.shown(), std::strerror(EACCES))};
  }
  return target;
}

std::string TargetProcess::shown() const { return fmt::format("{} (pid {})", facts_.name, pid()); }

bool TargetProcess::is_alive() const {
  const auto facts = facts_of(files_);
  return facts && !facts->is_zombie();
}

bool TargetProcess::has_just_started() const {
  constexpr std::uint64_t kSeconds = 2;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);  // The clock of /proc/PID/stat.
  const auto ticks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) * ticks < facts_.start + kSeconds * ticks;
}

bool TargetProcess::has_moved() const {
  const auto facts = facts_of(files_);
  if (!facts || facts->is_zombie()) return false;
  const auto root = foreign::ProcessRoot::open(pid());
  return facts->uid != facts_.uid || (root && root->identity() != root_->identity());
}

base::Outcome<GeigerFiles> TargetProcess::geiger_files() const {
  const auto maps = files_.read("maps");
  if (!maps) {
    return base::Failure{
        fmt::format("{}: its mappings cannot be read: {}", shown(), std::strerror(errno))};
  }
  return geiger_files_in(mapped_files_in(*maps));
}

bool TargetProcess::is_confined_further() const {
  const auto ours = facts_of(observe::ProcessFiles(getpid()));
  return is_confined_beyond(ours ? ours->confinement : Confinement{}, facts_.confinement);
}

std::string TargetProcess::own_words() const {
  const std::string environment = files_.read("environ").value_or("");
  std::string words;
  for (std::string_view rest = environment; !rest.empty();) {
    const std::string_view word = base::take_part(rest, '\0');
    if (word.starts_with("GEIGER_") && word.find('\n') == word.npos) words.append(word) += '\n';
  }
  return words;
}

std::string TargetProcess::its_name_of(const std::string& directory) const {
  struct stat ours {};
  if (stat(directory.c_str(), &ours) != 0) return "";
  for (const std::string& name : {directory, root_->path_inside(directory)}) {
    struct stat its {};
    const base::UniqueFd fd = root_->open_path(name, O_PATH | O_DIRECTORY);
    if (fd.is_open() && fstat(fd.get(), &its) == 0 && ours.st_dev == its.st_dev &&
        ours.st_ino == its.st_ino) {
      return name;
    }
  }
  return "";
}

std::string TargetProcess::path_of(const MappedFile& file) const {
  std::string path = root_->shown_path(file);
  return path.empty() ? file.path : path;
}

std::string TargetProcess::loss_of(const MappedFile& file) const {
  return fmt::format(
      "{} was deleted, perhaps by a cleaner of old files, so only root can control the process "
      "(sudo "
      "geiger ctl {} start, or stop)",
      file.path, pid());
}

base::UniqueFd TargetProcess::open_mapped(const MappedFile& file) const {
  base::UniqueFd fd = open_guarded([&](int flags) { return root_->open_mapped(file, flags); });
  struct stat status {};
  if (!fd.is_open() || fstat(fd.get(), &status) != 0) return {};
  const bool is_trusted =
      status.st_uid == facts_.uid || status.st_uid == 0 || status.st_uid == geteuid();
  if (status.st_ino != file.inode || !is_trusted) return {};
  return fd;
}

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
