#include "control/trace_home.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "analysis/ingest/seal.h"
#include "control/run_directory.h"
#include "inject/process_path.h"
#include "inject/target.h"

namespace geiger::control {
namespace {

/// Whether a directory that is writable here is on a read-only mount for the process, as with
/// systemd's ProtectSystem=strict.
bool is_read_only_for(pid_t pid, const std::string& directory) {
  struct statvfs there {};
  return statvfs(fmt::format("/proc/{}/root{}", pid, directory).c_str(), &there) == 0 &&
         (there.f_flag & ST_RDONLY) != 0;
}

/// Whether the user may create files there, checked as that user.
bool may_write(const std::string& directory, unsigned uid, unsigned gid) {
  const pid_t child = fork();
  if (child == 0) {
    const bool is_user = setgroups(0, nullptr) == 0 && setgid(gid) == 0 && setuid(uid) == 0;
    _exit(is_user && access(directory.c_str(), W_OK | X_OK) == 0 ? 0 : 1);
  }
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
}

bool hand_over(const std::string& directory, unsigned uid, unsigned gid) {
  return uid == geteuid() || lchown(directory.c_str(), uid, gid) == 0;
}

/// Gives the directory to the process's user. Whether the process can write its traces there then.
bool is_given(pid_t pid, const inject::ProcessFacts& facts, const std::string& directory) {
  return inject::sees_same(pid, directory) && !is_read_only_for(pid, directory) &&
         hand_over(directory, facts.uid, facts.gid) &&
         (facts.uid == geteuid() || may_write(directory, facts.uid, facts.gid));
}

std::string no_place_for(pid_t pid) {
  return fmt::format("process {} has no directory that it can write a trace to", pid);
}

// The writer may still be inside, so its file keeps its size.
void give_back_storage(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return;
  static_cast<void>(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size));
}

}  // namespace

base::Outcome<TraceHome> TraceHome::prepare(pid_t pid, const std::string& home, bool replaces) {
  const auto facts = inject::facts_of(pid);
  if (!facts) return base::Failure{fmt::format("there is no process {}", pid)};
  const auto created = create_run_directory(home, replaces);
  if (!created.has_value()) return created.failure();
  TraceHome result;
  result.home_ = result.told_ = result.watched_ = home;
  if (is_given(pid, *facts, home)) return result;
  if (result.find_place_there(pid, facts->uid, facts->gid)) return result;
  result.abandon();
  return base::Failure{no_place_for(pid)};
}

base::Outcome<std::string> TraceHome::make_directory(pid_t pid, const std::string& home) {
  const auto facts = inject::facts_of(pid);
  if (!facts) return base::Failure{fmt::format("there is no process {}", pid)};
  const bool is_new = mkdir(home.c_str(), 0700) == 0;
  const int refusal = is_new || errno == EEXIST ? 0 : errno;
  if (refusal == 0 && is_given(pid, *facts, home)) return home;
  if (is_new) rmdir(home.c_str());
  TraceHome away;
  if (away.find_place_there(pid, facts->uid, facts->gid)) return away.told_;
  if (refusal == 0) return base::Failure{no_place_for(pid)};
  return base::Failure{fmt::format("{}: {}", home.empty() ? "." : home, std::strerror(refusal))};
}

bool TraceHome::find_place_there(pid_t pid, unsigned uid, unsigned gid) {
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm"}) {
    std::string path = fmt::format("/proc/{}/root{}/geiger-XXXXXX", pid, place);
    if (mkdtemp(path.data()) == nullptr) continue;
    away_name_ = path.substr(path.rfind('/') + 1);
    told_ = fmt::format("{}/{}", place, away_name_);
    away_ = base::UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (away_.is_open() && fchown(away_.get(), uid, gid) == 0) {
      watched_ = fmt::format("/proc/self/fd/{}", away_.get());
      return true;
    }
    rmdir(path.c_str());
    away_.reset();
  }
  return false;
}

std::string TraceHome::bring_home() const {
  std::string sentences;
  for (const auto& name : traces_in(watched_)) {
    const std::string from = watched_ + "/" + name;
    const base::UniqueFd old(open(from.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    const auto error = ingest::pack_images({&from, 1}, home_ + "/" + name, true);
    if (error) {
      sentences += error->text() + "\n";
    } else {
      give_back_storage(old.get());
      if (is_away()) unlinkat(away_.get(), name.c_str(), 0);
    }
  }
  if (is_away() && sentences.empty()) remove_away();
  return sentences;
}

// Through its parent, as the process whose root it is in may have ended.
void TraceHome::remove_away() const {
  const base::UniqueFd parent(openat(away_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  unlinkat(parent.get(), away_name_.c_str(), AT_REMOVEDIR);
}

void TraceHome::abandon() const {
  remove_run_directory(home_);
  if (!is_away()) return;
  for (const auto& name : traces_in(watched_)) unlinkat(away_.get(), name.c_str(), 0);
  remove_away();
}

}  // namespace geiger::control
