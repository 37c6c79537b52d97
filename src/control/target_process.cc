#include "control/target_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "analysis/observe/proc_text.h"
#include "base/path.h"
#include "control/control_page.h"
#include "trace/rendezvous.h"

namespace geiger::control {

using inject::Confinement;
using inject::ProcessFacts;

namespace {

constexpr std::string_view kRuntime = "libgeiger-preload.so";
constexpr std::string_view kTraceSuffix = ".geiger";

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
                     mapping.is_shared});
  }
  return files;
}

GeigerFiles geiger_files_in(const std::vector<MappedFile>& files) {
  GeigerFiles found;
  for (const MappedFile& file : files) {
    const std::string_view name = base::file_name_of(file.path);
    if (name == kRuntime) found.has_runtime = true;
    if (!file.is_shared) continue;
    if (name.ends_with(kTraceSuffix)) found.traces.push_back(file);
    const bool is_in_ours =
        base::file_name_of(file.path.substr(0, file.path.rfind('/'))).starts_with("geiger");
    if (name == trace::kBellName && is_in_ours) found.bell = file;
    if (trace::is_rendezvous_name(std::string(name).c_str()) && is_in_ours) {
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
    return base::Failure{target.shown() + " belongs to another user"};
  }
  target.root_ = target.root();
  return target;
}

std::pair<dev_t, ino_t> TargetProcess::root() const {
  const auto root = files_.open("root");
  struct stat status {};
  if (!root.is_open() || fstat(root.get(), &status) != 0) return {};
  return {status.st_dev, status.st_ino};
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
  return facts && !facts->is_zombie() && (facts->uid != facts_.uid || root() != root_);
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

base::UniqueFd TargetProcess::open_path(const std::string& path, int flags) const {
  const auto root = files_.open("root");
  if (!root.is_open()) return {};
  const std::string below = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  // Absolute symbolic links start at the root of the process, as /var/run does in most images.
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  base::UniqueFd fd(
      static_cast<int>(syscall(SYS_openat2, root.get(), below.c_str(), &how, sizeof how)));
  const bool is_unknown = !fd.is_open() && (errno == ENOSYS || errno == EPERM);
  return is_unknown ? base::UniqueFd(openat(root.get(), below.c_str(), flags | O_CLOEXEC))
                    : std::move(fd);
}

std::string TargetProcess::its_name_of(const std::string& directory) const {
  struct stat ours {};
  if (stat(directory.c_str(), &ours) != 0) return "";
  for (const std::string& name : {directory, inject::path_inside(pid(), directory)}) {
    struct stat its {};
    const base::UniqueFd fd = open_path(name, O_PATH | O_DIRECTORY);
    if (fd.is_open() && fstat(fd.get(), &its) == 0 && ours.st_dev == its.st_dev &&
        ours.st_ino == its.st_ino) {
      return name;
    }
  }
  return "";
}

std::string TargetProcess::path_of(const MappedFile& file) const {
  std::string path = inject::path_here(pid(), file);
  return path.empty() ? file.path : path;
}

base::UniqueFd TargetProcess::open_mapped(const MappedFile& file) const {
  const std::string path = inject::path_here(pid(), file);
  base::UniqueFd fd = inject::is_mapping_link(path)
                          ? base::UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC))
                          : open_to_control(AT_FDCWD, path);
  struct stat status {};
  if (!fd.is_open() || fstat(fd.get(), &status) != 0) return {};
  const bool is_trusted =
      status.st_uid == facts_.uid || status.st_uid == 0 || status.st_uid == geteuid();
  if (!S_ISREG(status.st_mode) || status.st_ino != file.inode || !is_trusted) return {};
  return fd;
}

}  // namespace geiger::control
