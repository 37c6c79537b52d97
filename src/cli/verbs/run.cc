// `geiger run`: starts a program with the runtime preloaded, watches over it, and
// turns what it wrote into something that can be read.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/options/ending.h"
#include "cli/options/run_options.h"
#include "cli/verbs/commands.h"
#include "control/run_directory.h"
#include "control/trace_home.h"
#include "run/afterwards.h"
#include "run/allocator_library.h"
#include "run/environment.h"
#include "run/launch.h"
#include "run/supervisor.h"
#include "run/target_check.h"
#include "terminal/terminal.h"

namespace geiger::cli {
namespace {

constexpr int kNotStarted = 125;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

/// By `geiger push`, in a process of its own: the exit code here is the program's, whatever becomes
/// of it, and says why itself.
void push(const std::string& run, const std::string& receiver) {
  const std::array<const char*, 7> words{"geiger",    "push",           "-q",   "--",
                                         run.c_str(), receiver.c_str(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr,
                                const_cast<char* const*>(words.data()), environ);
  if (error != 0) return terminal::complain(fmt::format("not sent: {}", std::strerror(error)));
  waitpid(pid, nullptr, 0);
}

/// One run, from looking at the program to its exit code.
class Run {
 public:
  explicit Run(const run::RunOptions& options)
      : options_(options),
        program_(options.program),
        output_(options.program.front(), options.file) {}

  base::Outcome<int> perform();

 private:
  [[nodiscard]] base::Outcome<void> find_allocator();
  void prepare_directory(pid_t pid);
  [[nodiscard]] run::Environment bare_environment() const;
  [[nodiscard]] run::Environment environment_for(pid_t pid);
  [[nodiscard]] int run_in_place(const std::string& reason) const;
  int supervise(run::Launch& launch, const run::SignalState& signals);
  int finish(int status, pid_t pid, Nanoseconds ran_for, run::Supervisor& supervisor);
  [[nodiscard]] std::string obstacle() const;
  void say(const std::string& sentence) const {
    if (!options_.is_quiet && !sentence.empty()) terminal::complain(sentence);
  }

  const run::RunOptions& options_;
  std::vector<std::string> program_;  // with what was added to it
  control::OutputPlan output_;
  run::TargetCheck target_;
  std::optional<run::AllocatorLibrary> allocator_;
  std::optional<run::PreloadPath> preload_;
  std::unique_ptr<control::TraceBroker> broker_;
  bool removes_maps_ = false;
  std::string directory_;  // empty: the program runs without the runtime
};

// A program that keeps its own allocator is not started: what was asked for is a run with another.
base::Outcome<void> Run::find_allocator() {
  if (options_.allocator.empty()) return {};
  if (target_.obstacle != run::Obstacle::kNone) {
    return base::Failure{target_.sentence()};
  }
  allocator_ = GEIGER_TRY(run::find_allocator(options_.allocator));
  say("malloc is " + allocator_->text());
  return {};
}

// From here on nothing may keep the program from running: whatever is missing is reported, and the
// program runs without being profiled.
void Run::prepare_directory(pid_t pid) {
  if (target_.must_stay_bare()) return;
  auto preload = run::PreloadPath::locate();
  if (!preload.has_value()) {
    terminal::complain(preload.reason() + ": the program runs unprofiled");
    return;
  }
  const std::string directory = output_.directory_for(pid);
  const auto created = control::create_run_directory(directory, options_.replaces);
  if (!created.has_value()) {
    terminal::complain(created.reason() + ": the program runs unprofiled");
    return;
  }
  if (options_.enables_lttng && !preload.value().add_lttng()) {
    terminal::complain("this geiger was built without LTTng: the program runs without it");
  }
  preload_.emplace(std::move(preload.value()));
  directory_ = directory;
}

// Without a process or descriptors for geiger, the program takes its place.
int Run::run_in_place(const std::string& reason) const {
  terminal::complain(reason + ": the program runs unprofiled");
  const int error = run::become(options_.program, bare_environment());
  terminal::complain(fmt::format("cannot run '{}': {}", target_.path, std::strerror(error)));
  return error == ENOENT ? kNotFound : kCannotExecute;
}

base::Outcome<int> Run::perform() {
  run::occupy_standard_streams();
  target_ = run::check_target(options_.program.front());
  if (target_.is_fatal()) {
    terminal::complain(target_.sentence());
    return target_.obstacle == run::Obstacle::kNotFound ? kNotFound : kCannotExecute;
  }
  if (!options_.file.empty()) {
    GEIGER_TRY(control::check_writable(output_.file(), options_.replaces)
                   .failing_as(base::Fault::kRequest));
  }
  const auto allocator = find_allocator();
  if (!allocator.has_value()) {
    terminal::complain("--malloc: " + allocator.reason());
    return kNotStarted;
  }
  if (options_.names_java) removes_maps_ = GEIGER_TRY(run::ask_java(program_));
  say(target_.sentence());
  for (const std::string& line : target_.advice()) say(line);
  const run::SignalState signals = run::take_over_signals();
  auto launch = run::Launch::fork_waiting(program_, signals);
  if (!launch.has_value()) {
    run::restore_signals(signals);
    return run_in_place(launch.reason());
  }
  return supervise(launch.value(), signals);
}

// The runtime goes before an allocator: it calls the malloc that comes next.
run::Environment Run::bare_environment() const {
  run::Environment words = run::without_runtime(run::own_environment());
  return allocator_ ? run::with_preload(std::move(words), allocator_->preload_word()) : words;
}

run::Environment Run::environment_for(pid_t pid) {
  if (directory_.empty()) return bare_environment();
  run::RuntimeSettings settings = options_.runtime;
  if (options_.watch.holders_at_exit) settings.scanner = getpid();
  broker_ = control::TraceBroker::open(directory_);
  if (broker_) settings.broker = broker_->digits();
  auto words = run::with_runtime(bare_environment(), settings, preload_->word(), directory_, pid);
  if (options_.names_node && run::ask_node(words, program_)) removes_maps_ = true;
  return words;
}

int Run::supervise(run::Launch& launch, const run::SignalState& signals) {
  control::raise_descriptor_limit();  // The child has been forked and keeps its own.
  prepare_directory(launch.pid());
  run::Supervisor supervisor(launch.pid(), directory_, options_.window, options_.observation,
                             options_.watch);
  // After the supervisor, which cannot do without its descriptors.
  const int error = launch.execute(environment_for(launch.pid()));
  if (error != 0) {
    if (!directory_.empty()) control::remove_run_directory(directory_);
    terminal::complain(fmt::format("cannot run '{}': {}", target_.path, std::strerror(error)));
    return error == ENOENT ? kNotFound : kCannotExecute;
  }
  const Nanoseconds began = base::monotonic_now();
  const int status = supervisor.wait_for_end();
  const Nanoseconds ran_for = base::monotonic_now() - began;
  run::outlast_late_signals(std::chrono::seconds(1));
  sigprocmask(SIG_SETMASK, &signals.mask, nullptr);  // From then on ^C means geiger.
  return finish(status, launch.pid(), ran_for, supervisor);
}

std::string Run::obstacle() const {
  if (!options_.runtime.is_dormant) return "";
  return "dormant: recording was never started (geiger ctl PID start)";
}

int Run::finish(int status, pid_t pid, Nanoseconds ran_for, run::Supervisor& supervisor) {
  if (!directory_.empty()) {
    const run::Afterwards afterwards{.directory = directory_,
                                     .file = output_.file(),
                                     .shown = output_.shown_for(pid),
                                     .replaces = options_.replaces,
                                     .is_quiet = options_.is_quiet,
                                     .symbolizes = options_.symbolizes,
                                     .follows_children = options_.runtime.follows_children,
                                     .removes_maps = removes_maps_,
                                     .program = pid,
                                     .ran_for = ran_for,
                                     .end_signal = supervisor.end_signal(),
                                     .obstacle = obstacle(),
                                     .is_explained = !target_.sentence().empty(),
                                     .losses = supervisor.losses(),
                                     .unrecorded = supervisor.unrecorded(),
                                     .observer = supervisor.observer(),
                                     .scans = {&supervisor.holders(), &supervisor.content()}};
    if (run::finish_run(afterwards).has_running_processes) preload_->keep();
    if (!options_.receiver.empty()) push(output_.shown_for(pid), options_.receiver);
  }
  broker_.reset();
  preload_.reset();  // before a signal may end this process
  return WIFSIGNALED(status) ? run::die_of(WTERMSIG(status)) : WEXITSTATUS(status);
}

}  // namespace

void register_run(CLI::App& app, Work& work) {
  auto options = std::make_shared<run::RunOptions>();
  CLI::App* run = add_run_options(app, *options);
  run->callback([options, &work] {
    work = [options]() -> base::Outcome<int> {
      GEIGER_TRY(settle_interval(*options, run::IntervalWish::kAuto));
      if (options->watch.holders_at_exit && options->runtime.is_dormant) {
        return usage_failure("--holders=exit: a dormant program does not wait at its exit");
      }
      return Run(*options).perform();
    };
  });
}

}  // namespace geiger::cli
