// Processes of a run that go on after its program ended: daemons, jobs in the background.
#include "run/afterwards.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/ingest/ingest.h"
#include "analysis/ingest/observation_chunk.h"
#include "analysis/ingest/seal.h"
#include "analysis/present/text.h"
#include "analysis/report/faults/faults.h"
#include "analysis/report/overview/summary.h"
#include "analysis/symbolize/outside_names.h"
#include "analysis/symbolize/symbolize.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "control/run_directory.h"
#include "control/target_process.h"
#include "control/trace_feeder.h"
#include "run/environment.h"
#include "run/supervisor.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace geiger::run {

struct LeftProcess {
  pid_t pid = 0;
  pid_t own_pid = 0;  ///< In its own pid namespace, by which its trace is named.
  std::string name;   ///< As the kernel names it.
};

/// The processes that were started with the environment of the run of `directory`, whether they are
/// recorded or not, by their ids. Looks once at all processes of /proc; after a short run only at
/// those with ids after the `program`'s, as ids are given in turn. Processes whose environment
/// cannot be read, or was cleared, are not found.
[[nodiscard]] std::vector<LeftProcess> processes_left(const std::string& directory, pid_t program,
                                                      Nanoseconds ran_for);

namespace {

bool has_word(std::string_view environment, std::string_view wanted) {
  while (!environment.empty()) {
    if (base::take_part(environment, '\0') == wanted) return true;
  }
  return false;
}

/// The id that the kernel gave last; 0 if it cannot be read.
pid_t newest_pid() {
  std::ifstream file("/proc/loadavg");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  return base::number_in<pid_t>(line.substr(line.rfind(' ') + 1)).value_or(0);
}

/// The least id that a process of the run can have: ids do not go round within so short a time more
/// than once, and where they did the newest is below the program's.
pid_t least_pid(pid_t program, Nanoseconds ran_for) {
  constexpr Nanoseconds kShort = 1'000'000'000;
  return ran_for < kShort && newest_pid() >= program ? program : 1;
}

}  // namespace

std::vector<LeftProcess> processes_left(const std::string& directory, pid_t program,
                                        Nanoseconds ran_for) {
  std::vector<LeftProcess> left;
  const pid_t least = least_pid(program, ran_for);
  const std::string word = directory_word(directory);
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator("/proc", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto pid = base::number_in<pid_t>(entry->path().filename().native());
    if (!pid || *pid < least || *pid == getpid()) continue;
    const observe::ProcessFiles files(*pid);
    const auto environment = files.read("environ");
    if (!environment || !has_word(*environment, word)) continue;
    const auto facts = control::facts_of(files);
    auto name = files.read("comm");
    if (!facts || !name) continue;
    if (name->ends_with('\n')) name->pop_back();
    left.push_back({*pid, static_cast<pid_t>(facts->inner_pid), std::move(*name)});
  }
  std::ranges::sort(left, {}, &LeftProcess::pid);
  return left;
}

namespace {

/// The traces of a run: those that are final, and those still being written.
struct Traces {
  std::vector<std::string> all;
  std::vector<std::string> ended;
  std::vector<LeftProcess> left;  ///< Processes that go on without a trace.
  [[nodiscard]] bool has_running() const { return running() > 0 || !left.empty(); }
  [[nodiscard]] std::size_t running() const { return all.size() - ended.size(); }
  [[nodiscard]] bool has_ended(const std::string& path) const {
    return std::find(ended.begin(), ended.end(), path) != ended.end();
  }
};

Traces find_traces(const Afterwards& run) {
  Traces traces;
  for (const auto& name : control::traces_in(run.directory)) {
    const std::string path = run.directory + "/" + name;
    const pid_t pid = ingest::process_named(name).value_or(ingest::NamedProcess{}).pid;
    traces.all.push_back(path);
    if (pid == run.program || !control::is_being_written(path, pid)) traces.ended.push_back(path);
  }
  return traces;
}

/// Adds traces that have appeared since, and finds the processes that have none yet.
void look_again(const Afterwards& run, Traces& traces) {
  if (run.follows_children) traces.left = processes_left(run.directory, run.program, run.ran_for);
  for (const auto& name : control::traces_in(run.directory)) {
    const pid_t pid = ingest::process_named(name).value_or(ingest::NamedProcess{}).pid;
    std::erase_if(traces.left, [&](const LeftProcess& each) { return each.own_pid == pid; });
    const std::string path = run.directory + "/" + name;
    if (std::ranges::find(traces.all, path) == traces.all.end()) traces.all.push_back(path);
  }
}

/// Processes that end because the program did, such as the helpers of Python's multiprocessing, get
/// this long, so that their traces are whole.
constexpr std::chrono::milliseconds kPatience{1000}, kLookEvery{20};

Traces wait_for_orphans(const Afterwards& run) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    Traces traces = find_traces(run);
    look_again(run, traces);
    if (!traces.has_running() || std::chrono::steady_clock::now() >= until) return traces;
    std::this_thread::sleep_for(kLookEvery);
  }
}

void say_who_is_left(const Traces& traces) {
  if (traces.left.empty()) return;
  constexpr std::size_t kNamed = 3;
  terminal::complain(fmt::format(
      "{} still running and not recorded so far: {}",
      traces.left.size() == 1 ? "1 process of the run is"
                              : fmt::format("{} processes of the run are", traces.left.size()),
      present::first_of(traces.left, kNamed, [](const LeftProcess& each) {
        return fmt::format("{} (pid {})", each.name, each.pid);
      })));
}

void say_nothing_recorded(const Afterwards& run) {
  if (run.losses.refused != 0) {
    terminal::complain(fmt::format("nothing was recorded: {}", std::strerror(run.losses.refused)));
  } else if (!run.unrecorded.empty()) {
    for (const std::string& name : run.unrecorded) terminal::complain(ingest::Unbegun{name}.text());
  } else if (run.losses.missing.empty() && !run.is_quiet) {
    terminal::complain(run.is_explained
                           ? "nothing was recorded"
                           : fmt::format("nothing was recorded: {}",
                                         run.obstacle.empty()
                                             ? "the program loaded no runtime (it allocated "
                                               "nothing, or changed its environment)"
                                             : run.obstacle));
  }
}

void report_failure(const ingest::FileOutcome& outcome) {
  if (!outcome.has_value()) terminal::complain(outcome.failure().text());
}

// Unreadable traces have been reported already and cannot be sealed.
void seal_all(const ingest::Ingested& ingested, const Traces& traces) {
  for (const auto& place : ingested.places) {
    if (!traces.has_ended(place.path)) continue;
    report_failure(ingest::seal_trace(place.path));
  }
}

/// Into the image that was the program's when it was killed. An image that was not recorded may
/// have followed it, by exec.
void store_end_signal(const Afterwards& run, ingest::Ingested& ingested) {
  const auto is_programs = [&](const std::string& name) {
    return ingest::process_named(name).value_or(ingest::NamedProcess{}).pid == run.program;
  };
  if (run.end_signal == 0 || std::ranges::any_of(run.unrecorded, is_programs)) return;
  const ingest::ImagePlace* last = nullptr;
  const auto& processes = ingested.recording.processes;
  for (const auto& place : ingested.places) {
    if (!place.is_last || !is_programs(place.path)) continue;
    const bool is_later =
        last == nullptr || processes[place.process].start > processes[last->process].start;
    if (is_later) last = &place;
  }
  if (last == nullptr) return;
  profile::Process& process = ingested.recording.processes[last->process];
  if (process.ending != profile::Ending::kKilled) return;
  process.end_signal = run.end_signal & ~trace::kEndShortOfMemory;
  process.was_memory_short = (run.end_signal & trace::kEndShortOfMemory) != 0;
  report_failure(ingest::store_end_signal(last->path, run.end_signal));
}

void look_up_names(profile::Recording& recording, const Afterwards& run) {
  symbolize::Options options;
  options.root = run.root;
  std::optional<terminal::Progress> progress;
  if (!run.is_quiet) progress.emplace("looking up names");
  options.progress = [&progress](std::size_t done, std::size_t total) {
    if (progress) progress->update(done, total);
  };
  const symbolize::Outcome outcome = symbolize::symbolize(recording, options);
  progress.reset();
  for (const std::string& fault : outcome.faults) terminal::complain(fault);
}

// Names go after the records of each image, so that the run reads the same on a
// machine without the binaries.
void store_names(const ingest::Ingested& ingested, const Traces& traces) {
  std::map<std::string, std::vector<ingest::ImageChunks>> files;
  for (const auto& place : ingested.places) {
    if (!place.is_last || !traces.has_ended(place.path)) continue;
    files[place.path].push_back({place.image,
                                 {{trace::ChunkType::kSymbols,
                                   symbolize::encode_symbols(ingested.recording, place.process)}}});
  }
  for (const auto& [path, chunks] : files) {
    report_failure(ingest::store_chunks(path, chunks));
  }
}

// Their names are in the traces now.
void remove_maps(const ingest::Ingested& ingested, const Traces& traces) {
  for (const auto& place : ingested.places) {
    if (!traces.has_ended(place.path)) continue;
    symbolize::remove_map_of(ingested.recording.processes[place.process],
                             symbolize::Options{}.perf_map_dir);
  }
}

// Before anything is read, so that the observations come back with the samples that they are about.
// A trace that cannot be changed is reported when it is sealed.
void store_observations(const Afterwards& run, const Traces& traces) {
  std::string unread;  // What is said once: processes may be many.
  for (const std::string& path : traces.ended) {
    auto observed = run.observer == nullptr ? std::nullopt : run.observer->take(path);
    for (MemoryScans* scans : run.scans) {
      profile::Observations all = observed ? std::move(*observed) : profile::Observations{};
      if (scans->add_to(path, all) || observed) observed = std::move(all);
    }
    if (!observed) continue;
    if (!observed->last_content && unread.empty()) unread = observed->content_fault;
    const ingest::ImageChunks chunks[] = {
        {0, {{trace::ChunkType::kObservations, ingest::encode_observations(*observed)}}}};
    static_cast<void>(ingest::store_chunks(path, chunks));
  }
  if (unread.empty()) return;
  terminal::complain(fmt::format("what objects contain could not be read: {}", unread));
}

// Returns what the user calls the result. The parts stay where packing failed, and
// where processes still write them.
std::string pack(const Afterwards& run, const Traces& traces,
                 const std::vector<ingest::Unbegun>& unbegun) {
  if (run.file.empty()) return run.shown;
  const auto packed = ingest::pack_images(traces.all, run.file, run.replaces, unbegun);
  report_failure(packed);
  if (packed.has_value() && !traces.has_running()) {
    control::remove_run_directory(run.directory);
    return run.shown;
  }
  terminal::complain(fmt::format("the traces remain in {}", run.directory));
  return run.directory;
}

void say_what_was_not_watched(const Afterwards& run) {
  if (run.losses.late == 0) return;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  terminal::complain(
      fmt::format("not watched all the time: {} traces (memory from outside, conditions, budget); "
                  "the limit of open files is {} (ulimit -Hn)",
                  run.losses.late, limit.rlim_cur));
}

void say_what_was_recorded(const Afterwards& run, const Traces& traces,
                           const profile::Recording& recording, const std::string& shown) {
  if (run.losses.refused != 0) {
    terminal::complain(
        fmt::format("no space left for traces: {}", std::strerror(run.losses.refused)));
  }
  say_what_was_not_watched(run);
  say_who_is_left(traces);
  if (run.is_quiet) {
    const std::string fault = clause(report::faults_report(recording, {.top = 1}));
    if (!fault.empty()) terminal::complain(present::printable(fault));
    return;
  }
  if (traces.running() > 0) {
    terminal::complain(fmt::format("{} still running and still being recorded",
                                   traces.running() == 1
                                       ? "1 process is"
                                       : fmt::format("{} processes are", traces.running())));
  }
  constexpr double kLevel = 0.95;
  const present::Style style = terminal::error_style(kLevel);
  const auto report = report::summary_report(
      recording,
      {.level = style.level, .run = shown, .sites = 0, .has_checks = false, .has_advice = true});
  std::string lines = report::closing_lines(report, recording, style);
  if (isatty(STDERR_FILENO) == 1) lines = present::wrap_lines(lines, style.width);
  fmt::print(stderr, "{}", style.has_unicode ? lines : present::to_ascii_marks(lines));
}

void say_what_is_missing(const Afterwards& run) {
  const control::WatchLosses& losses = run.losses;
  if (!losses.moved_to.empty()) {
    terminal::complain(fmt::format(
        "the run directory was moved to {0}: 'geiger symbolize {0}' completes its traces",
        losses.moved_to));
  } else if (!losses.missing.empty()) {
    terminal::complain(fmt::format(
        "{} deleted or moved while the program ran: {}",
        losses.missing.size() == 1 ? "1 trace was"
                                   : fmt::format("{} traces were", losses.missing.size()),
        losses.missing.front() + (losses.missing.size() == 1 ? "" : " and others")));
  }
  if (!losses.renamed.empty()) {
    terminal::complain(fmt::format(
        "{} renamed while the program ran: 'geiger symbolize {}/{}' completes {}",
        losses.renamed.size() == 1 ? "1 trace was"
                                   : fmt::format("{} traces were", losses.renamed.size()),
        run.directory, losses.renamed.front(), losses.renamed.size() == 1 ? "it" : "the first"));
  }
}

// An empty trace says in every report that a process was not recorded.
void put_empty_traces(const Afterwards& run, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string path = run.directory + "/" + name;
    const base::UniqueFd file(
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, trace::kFileMode));
  }
}

AfterwardsResult finish(const Afterwards& run) {
  say_what_is_missing(run);
  if (!run.losses.moved_to.empty()) return {};  // What is there now is not the run's.
  put_empty_traces(run, run.losses.missing);
  const bool has_traces = !control::traces_in(run.directory).empty();
  if (!has_traces) {
    Traces none;
    look_again(run, none);
    say_nothing_recorded(run);
    say_who_is_left(none);
    if (none.left.empty()) rmdir(run.directory.c_str());
    return {.has_running_processes = none.has_running()};
  }
  put_empty_traces(run, run.unrecorded);
  Traces traces = wait_for_orphans(run);
  store_observations(run, traces);
  // As a directory: a file there may be empty, one that the user names should not.
  const std::string directory[] = {run.directory};
  auto ingested = ingest::read_recording(directory);
  for (const auto& warning : ingested.recording.warnings) terminal::complain(warning);
  if (run.unrecorded.size() >= UnrecordedWatch::kMost) {
    terminal::complain(
        fmt::format("only the first {} processes without the library are named: "
                    "there may be more",
                    UnrecordedWatch::kMost));
  }
  if (ingested.recording.processes.empty()) {
    terminal::complain("nothing was recorded: no trace is readable");
    return {.has_running_processes = traces.has_running()};
  }
  store_end_signal(run, ingested);
  seal_all(ingested, traces);
  if (run.symbolizes) look_up_names(ingested.recording, run);
  if (run.symbolizes) store_names(ingested, traces);
  if (run.symbolizes && run.removes_maps) remove_maps(ingested, traces);
  look_again(run, traces);
  const std::string shown = pack(run, traces, ingested.unbegun);
  say_what_was_recorded(run, traces, ingested.recording, shown);
  return {.has_running_processes = traces.has_running()};
}

// Reads no sample, so its memory does not grow with the recording.
AfterwardsResult finish_without_names(const Afterwards& run) {
  const Traces traces = find_traces(run);
  for (const std::string& path : traces.ended) report_failure(ingest::seal_trace(path));
  const std::string shown = pack(run, traces, {});
  terminal::complain(
      fmt::format("the recording is in {0}, without names so far: 'geiger symbolize "
                  "{0}' adds them",
                  shown));
  return {.has_running_processes = traces.has_running()};
}

/// Files that a process of geiger was writing when it was killed (ingest::OutputFile).
void remove_unfinished(const Afterwards& run, pid_t writer) {
  const std::string end = fmt::format(".{}.part", writer);
  std::error_code error;
  if (!run.file.empty()) std::filesystem::remove(run.file + end, error);
  for (const auto& entry : std::filesystem::directory_iterator(run.directory, error)) {
    if (entry.path().native().ends_with(end)) std::filesystem::remove(entry.path(), error);
  }
}

using Work = AfterwardsResult(const Afterwards& run);

AfterwardsResult attempt(Work* work, const Afterwards& run) noexcept {
  try {
    return work(run);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "geiger: %s (the traces remain in %s)\n", error.what(),
                 run.directory.c_str());
    return {.has_running_processes = true};
  }
}

/// The kernel ends this process before others if memory is short, and ends it with its parent.
[[noreturn]] void work_as_child(Work* work, const Afterwards& run) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  std::exit(attempt(work, run).has_running_processes ? 1 : 0);
}

/// Nothing if the child was killed, which is said.
std::optional<AfterwardsResult> attempt_in_child(Work* work, const Afterwards& run) {
  const pid_t child = fork();
  if (child < 0) return attempt(work, run);
  if (child == 0) work_as_child(work, run);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return AfterwardsResult{WEXITSTATUS(status) != 0};
  remove_unfinished(run, child);
  terminal::complain(fmt::format("the work after the program's end was killed by SIG{}{}",
                                 sigabbrev_np(WTERMSIG(status)),
                                 WTERMSIG(status) == SIGKILL ? " (out of memory?)" : ""));
  return std::nullopt;
}

}  // namespace

AfterwardsResult finish_run(const Afterwards& run) noexcept {
  if (const auto result = attempt_in_child(finish, run)) return *result;
  if (const auto result = attempt_in_child(finish_without_names, run)) return *result;
  terminal::complain(fmt::format("the traces remain in {}", run.directory));
  return {.has_running_processes = true};
}

}  // namespace geiger::run
