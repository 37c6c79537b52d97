#include "live/followed_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "analysis/observe/proc_files.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "base/clock.h"
#include "base/text.h"
#include "control/run_directory.h"

namespace geiger::live {
namespace {

using OpenedRun = base::Outcome<FollowedRun>;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// While `geiger run -o FILE` runs, its traces are in FILE.parts.
constexpr std::string_view kParts = ".parts";

/// Of `geiger run`: geiger-NAME.PID, or FILE.parts. Traces there are of one run.
bool is_run_directory(const std::string& directory) {
  const std::string name(profile::file_name_of(directory));
  if (name.ends_with(kParts)) return true;
  const std::size_t dot = name.rfind('.');
  return name.starts_with("geiger-") && dot != std::string::npos &&
         process_id_in(name.substr(dot + 1)).has_value();
}

std::string names_of(const std::vector<control::ProcessStatus>& processes) {
  constexpr std::size_t kNamed = 6;
  return present::first_of(processes, kNamed, [](const control::ProcessStatus& process) {
    return fmt::format("{} ({})", process.pid, process.program);
  });
}

Bytes resident_bytes(pid_t pid) {
  const observe::ProcessFiles files(pid);
  const auto text = files.read("status");
  const auto status = text ? observe::parse_status(*text) : std::nullopt;
  return status ? status->counts.resident : 0;
}

/// As the kernel has it; nothing of one that is gone.
std::string name_of_running(pid_t pid) {
  std::string name = observe::ProcessFiles(pid).read("comm").value_or("");
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

}  // namespace

std::optional<pid_t> process_id_in(const std::string& word) {
  const auto pid = base::number_in<pid_t>(word);
  return pid && *pid > 0 ? pid : std::nullopt;
}

OpenedRun FollowedRun::open(const std::string& word) {
  if (const auto pid = process_id_in(word)) return of_process(*pid);
  if (!word.empty()) return of_path(word);
  std::vector<control::ProcessStatus> recorded = control::controlled_processes();
  std::erase_if(recorded, [](const control::ProcessStatus& status) {
    return status.standing != control::Standing::kRecording &&
           status.standing != control::Standing::kPaused;
  });
  if (recorded.empty()) {
    return base::Failure{
        "none of your processes is being recorded: name a program after --, or start recording "
        "a dormant one (geiger ctl)"};
  }
  // The processes of one run are one choice: the one that began it.
  const std::string run = directory_of(recorded.front().trace);
  const bool is_one_run = is_run_directory(run) &&
                          std::ranges::all_of(recorded, [&](const control::ProcessStatus& status) {
                            return directory_of(status.trace) == run;
                          });
  if (recorded.size() == 1) return of_process(recorded.front().pid);
  if (is_one_run) return of_path(run);
  return base::Failure{
      fmt::format("several processes are being recorded, choose one: {}", names_of(recorded))};
}

OpenedRun FollowedRun::of_process(pid_t pid) {
  auto controlled = GEIGER_TRY(control::Controlled::open_started(pid));
  const control::Standing standing = controlled.standing();
  const std::string who = controlled.shown();
  const control::LiveTrace* trace = controlled.trace();
  if (control::waits_for_request(standing)) {
    return base::Failure{
        fmt::format("{} is dormant, nothing is recorded: use geiger ctl {} start", who, pid)};
  }
  if (standing == control::Standing::kEnded) {
    return base::Failure{
        fmt::format("the recording of {} has ended: geiger summary {}", who, trace->path())};
  }
  if (trace == nullptr) {
    return base::Failure{who + " is not being recorded: the library in it is disabled"};
  }
  FollowedRun run;
  run.shown_ = who;
  run.pid_ = pid;
  run.directory_ = run.shown_directory_ = directory_of(trace->path());
  const bool is_run = is_run_directory(run.directory_);
  run.path_ = is_run ? run.directory_ : trace->path();
  const trace::FileHeader& header = trace->header();
  const Nanoseconds began = header.image_start != 0 ? header.image_start : header.start_monotonic;
  if (!is_run) run.only_ = {header.pid, began};
  run.target_ = std::make_unique<control::TargetProcess>(controlled.take_target());
  return run;
}

OpenedRun FollowedRun::of_path(const std::string& word) {
  std::error_code code;
  // This holds also where FILE exists: it is then of an earlier run (-f), or of processes that run
  // on.
  const bool is_being_written = std::filesystem::is_directory(word + std::string(kParts), code);
  const std::string path = is_being_written ? word + std::string(kParts) : word;
  const auto status = std::filesystem::status(path, code);
  if (code || !std::filesystem::exists(status)) {
    return base::Failure{fmt::format("{}: not a process, run directory or trace", path)};
  }
  FollowedRun run;
  run.shown_ = word;
  run.path_ = path;
  if (std::filesystem::is_directory(status)) {
    run.directory_ = run.shown_directory_ = path;
  } else {
    run.follower_->add(path, path);
  }
  run.look(0);
  if (run.follower_->is_empty()) return base::Failure{path + " contains no traces"};
  return run;
}

FollowedRun FollowedRun::of_started(pid_t pid, const std::string& directory) {
  FollowedRun run;
  run.pid_ = pid;
  run.shown_ = fmt::format("pid {}", pid);
  run.path_ = run.directory_ = run.shown_directory_ = directory;
  return run;
}

bool FollowedRun::look(Bytes most) {
  if (!directory_.empty()) follower_->add_all_in(directory_, shown_directory_, only_);
  return follower_->update(base::monotonic_now(), most);
}

/// A process id may be another's in our namespace: the named process is known better.
bool FollowedRun::is_target(const profile::Process& process) const {
  return target_ && process.own_pid() == target_->facts().inner_pid;
}

bool FollowedRun::is_alive(const profile::Process& process) const {
  if (is_target(process)) return target_->is_alive();
  return kill(static_cast<pid_t>(process.pid), 0) == 0 || errno == EPERM;
}

bool FollowedRun::is_running() const {
  if (follower_->processes().empty()) return !pid_ || kill(*pid_, 0) == 0 || errno == EPERM;
  return std::ranges::any_of(follower_->processes(), [&](const profile::Process& process) {
    return (process.ending == profile::Ending::kStillOpen ||
            process.ending == profile::Ending::kContinued) &&
           is_alive(process);
  });
}

profile::Recording FollowedRun::picture() {
  profile::Recording picture = follower_->picture();
  for (profile::Process& process : picture.processes) {
    const bool is_open = process.ending == profile::Ending::kStillOpen;
    if (is_open && !is_alive(process)) process.ending = profile::Ending::kKilled;
  }
  return picture;
}

std::string FollowedRun::state_of(const profile::Process& process) const {
  switch (process.ending) {
    case profile::Ending::kExited:
      return "exited";
    case profile::Ending::kStopped:
      return "stopped";
    case profile::Ending::kSwitchedOff:
      return "switched off";
    default:
      return is_alive(process) ? "recording" : "gone";
  }
}

std::vector<report::LiveProcess> FollowedRun::processes(const profile::Recording& picture) const {
  std::vector<report::LiveProcess> processes;
  for (std::uint32_t i = 0; i < picture.processes.size(); ++i) {
    const profile::Process& process = picture.processes[i];
    const pid_t outer = is_target(process) ? target_->pid() : static_cast<pid_t>(process.pid);
    report::LiveProcess line{i, static_cast<std::uint32_t>(outer),
                             std::string(profile::program_name(process)), state_of(process), 0};
    if (line.state == "recording") {
      line.resident = resident_bytes(outer);
      if (std::string name = name_of_running(outer); !name.empty()) line.name = std::move(name);
    }
    processes.push_back(std::move(line));
  }
  return processes;
}

}  // namespace geiger::live
