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
#include "base/numbers.h"
#include "base/path.h"
#include "control/control_page.h"
#include "trace/rendezvous.h"

namespace geiger::control {
namespace {

constexpr std::string_view kRuntime = "libgeiger-preload.so";
constexpr std::string_view kTraceSuffix = ".geiger";
constexpr std::string_view kBetweenWords = " \t";

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBetweenWords), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBetweenWords));
  text.remove_prefix(word.size());
  return word;
}

/// The words behind "NAME:" in a text of such lines, as far as there are any.
std::vector<std::string_view> words_of(std::string_view text, std::string_view name) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(name) || line.substr(name.size(), 1) != ":") continue;
    line.remove_prefix(name.size() + 1);
    for (auto word = take_word(line); !word.empty(); word = take_word(line)) words.push_back(word);
    break;
  }
  return words;
}

std::optional<std::uint32_t> number_of(const std::vector<std::string_view>& words,
                                       std::size_t index) {
  return index < words.size() ? base::number_in<std::uint32_t>(words[index]) : std::nullopt;
}

/// "name (of something)" may stand in the text: from the first to the last parenthesis.
std::string name_in(std::string_view stat) {
  const auto open = stat.find('('), close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
  return std::string(stat.substr(open + 1, close - open - 1));
}

}  // namespace

bool is_confined_beyond(const observe::Confinement& ours, const observe::Confinement& its) {
  if (its.mode == 0) return false;
  return its.filters == 0 || !(its == ours);
}

std::optional<ProcessFacts> parse_facts(pid_t pid, std::string_view status, std::string_view stat) {
  const auto user = number_of(words_of(status, "Uid"), 1);
  const auto leader = number_of(words_of(status, "Tgid"), 0);
  const auto state = words_of(status, "State");
  const std::uint64_t ticks = trace::start_ticks_in(stat.data(), stat.size());
  if (!user || !leader || state.empty() || ticks == 0) return std::nullopt;
  ProcessFacts facts;
  facts.pid = pid;
  const auto inner = words_of(status, "NSpid");
  facts.inner_pid = static_cast<std::uint32_t>(pid);
  if (!inner.empty()) facts.inner_pid = number_of(inner, inner.size() - 1).value_or(pid);
  facts.user = *user;
  facts.start_ticks = ticks;
  facts.name = name_in(stat);
  facts.is_zombie = state.front() == "Z" || state.front() == "X";
  facts.confinement.mode = number_of(words_of(status, "Seccomp"), 0).value_or(0);
  facts.confinement.filters = number_of(words_of(status, "Seccomp_filters"), 0).value_or(0);
  facts.leader = static_cast<pid_t>(*leader);
  return facts;
}

std::optional<ProcessFacts> facts_of(pid_t pid, const observe::ProcessFiles& files) {
  const auto status = files.read("status");
  const auto stat = files.read("stat");
  return status && stat ? parse_facts(pid, *status, *stat) : std::nullopt;
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
  }
  return found;
}

base::Outcome<TargetProcess> TargetProcess::open(pid_t pid) {
  TargetProcess target(pid);
  const auto status = target.files_.read("status");
  const auto stat = target.files_.read("stat");
  if (!status || !stat) return base::Failure{fmt::format("there is no process {}", pid)};
  const auto facts = parse_facts(pid, *status, *stat);
  if (!facts) return base::Failure{fmt::format("cannot parse the files in /proc/{}", pid)};
  target.facts_ = *facts;
  if (facts->leader != pid) {
    return base::Failure{fmt::format("{} is a thread of process {}", pid, facts->leader)};
  }
  if (facts->is_zombie) return base::Failure{target.shown() + " has ended"};
  if (geteuid() != 0 && facts->user != geteuid()) {
    return base::Failure{target.shown() + " belongs to another user"};
  }
  return target;
}

std::string TargetProcess::shown() const {
  return fmt::format("{} (pid {})", facts_.name, facts_.pid);
}

bool TargetProcess::is_alive() const {
  const auto facts = facts_of(facts_.pid, files_);
  return facts && !facts->is_zombie;
}

bool TargetProcess::has_just_started() const {
  constexpr std::uint64_t kSeconds = 2;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);  // What /proc/PID/stat counts from.
  const auto ticks = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(now.tv_sec) * ticks < facts_.start_ticks + kSeconds * ticks;
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
  const auto ours = facts_of(getpid(), observe::ProcessFiles(getpid()));
  return is_confined_beyond(ours ? ours->confinement : observe::Confinement{},
                            facts_.confinement);
}

base::UniqueFd TargetProcess::open_path(const std::string& path, int flags) const {
  const auto root = files_.open("root");
  if (!root.is_open()) return {};
  const std::string below = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  // Links to absolute paths lead to the root of the process, as /var/run does in most images.
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
  for (const std::string& name : {directory, inject::path_inside(facts_.pid, directory)}) {
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
  std::string path = inject::path_here(facts_.pid, file);
  return path.empty() ? file.path : path;
}

base::UniqueFd TargetProcess::open_mapped(const MappedFile& file) const {
  const std::string path = inject::path_here(facts_.pid, file);
  base::UniqueFd fd = inject::is_mapping_link(path)
                          ? base::UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC))
                          : open_to_control(AT_FDCWD, path);
  struct stat status {};
  if (!fd.is_open() || fstat(fd.get(), &status) != 0) return {};
  const bool is_trusted =
      status.st_uid == facts_.user || status.st_uid == 0 || status.st_uid == geteuid();
  if (!S_ISREG(status.st_mode) || status.st_ino != file.inode || !is_trusted) return {};
  return fd;
}

}  // namespace geiger::control
