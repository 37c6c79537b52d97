#include "run/attach_session.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/observe/observer.h"
#include "analysis/observe/proc_files.h"
#include "analysis/present/format.h"
#include "base/text.h"
#include "control/run_directory.h"
#include "control/run_watch.h"
#include "control/target_process.h"
#include "control/trace_feeder.h"
#include "control/trace_home.h"
#include "estimation/planning.h"
#include "inject/inject.h"
#include "inject/target.h"
#include "run/afterwards.h"
#include "run/environment.h"
#include "run/target_check.h"
#include "terminal/terminal.h"

namespace geiger::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLook{1000};
/// After this long, or this part of the duration, what the process keeps is judged.
constexpr std::chrono::seconds kRates{5};
constexpr int kRatesPart = 4;

base::UniqueFd take_over_end_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return base::UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::string program_of(pid_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error).string();
}

/// The base name of what was given to exec, as recordings have it: the executable's own may be
/// another, behind a link. Empty if it cannot be read; also of another user's process, which may
/// have put there what never ends to be read, or any text.
std::string started_as(pid_t pid) {
  struct stat status {};
  const bool is_own =
      stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 && status.st_uid == geteuid();
  if (!is_own) return "";
  const std::string auxv = observe::ProcessFiles(pid).read("auxv").value_or("");
  const base::UniqueFd memory(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<std::uint64_t, 2> entry{};
  for (std::size_t at = 0; at + sizeof entry <= auxv.size(); at += sizeof entry) {
    std::memcpy(&entry, auxv.data() + at, sizeof entry);
    if (entry[0] != AT_EXECFN) continue;
    std::array<char, PATH_MAX> text{};
    const auto got =
        pread(memory.get(), text.data(), text.size() - 1, static_cast<off_t>(entry[1]));
    return got > 0 ? std::string(base::file_name_of(text.data())) : "";
  }
  return "";
}

/// Fails where the process's executable speaks against it.
base::Outcome<void> check_program(pid_t pid) {
  TargetCheck check = check_target(fmt::format("/proc/{}/exe", pid));
  check.examined = program_of(pid);
  if (check.obstacle == Obstacle::kNone || check.is_fatal()) return {};
  return base::Failure{check.sentence()};
}

std::string lines_of(const Environment& words) {
  return fmt::format("{}\n", fmt::join(words, "\n"));
}

class Session {
 public:
  explicit Session(const AttachOptions& options)
      : options_(options), order_{options.pid, options.despite_seccomp} {}

  base::Outcome<bool> perform();

 private:
  enum class End { kAsked, kGone, kDetached, kReplaced };

  base::Outcome<void> check();
  base::Outcome<void> begin();
  End watch();
  [[nodiscard]] std::optional<End> look();
  [[nodiscard]] nanoseconds round();
  void show_progress();
  void scan_at_end(MemoryScans& scans, const std::string& purpose);
  void say_what_is_settled();
  [[nodiscard]] control::WatchOptions watch_options();
  base::Outcome<void> end(End end);
  void detach_children() const;
  void finish();
  void say(const std::string& sentence) const {
    if (!options_.recording.is_quiet) terminal::complain(sentence);
  }

  const AttachOptions& options_;
  inject::Order order_;
  base::UniqueFd process_, signals_;
  std::string program_;
  std::optional<control::OutputPlan> output_;
  std::optional<control::TraceHome> home_;
  std::optional<control::TraceFeeder> feeder_;
  std::optional<observe::Observer> observer_;
  MemoryScans holders_{scan_for_holders, keep_whole};
  MemoryScans content_{scan_content, profile::append};
  std::optional<control::RunWatch> watch_;
  std::vector<inject::Address> modules_;
  Clock::time_point start_, next_look_;
  bool is_drawn_ = false, has_said_what_is_settled_ = false;
};

double seconds_of(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// The growth that a recording of this process settles.
std::string settled_text(const observe::KeptSoFar& kept, nanoseconds elapsed,
                         const std::optional<nanoseconds>& duration) {
  if (!kept.is_counted) {
    return fmt::format(
        "growth is settled once more is allocated and kept than the {} that the "
        "process had: its allocator's blocks cannot be counted",
        present::bound_bytes(static_cast<double>(kept.before)));
  }
  const double others = kept.bytes / seconds_of(elapsed);
  const auto growth = [&](double seconds) {
    const double least =
        estimation::leak_found_in(seconds, others, static_cast<double>(kept.interval));
    return fmt::format("above {}/s in {:g} s", present::bound_bytes(least),
                       std::round(10 * seconds) / 10);
  };
  constexpr double kShort = 30, kLong = 600;
  return fmt::format(
      "at {} growth of one site is settled {}", present::exact_bytes(kept.interval),
      duration ? growth(seconds_of(*duration)) : growth(kShort) + ", " + growth(kLong));
}

/// In order, without the runtime's own, which has no slots to turn.
std::vector<inject::Address> bases_of(const std::vector<inject::RemoteModule>& modules) {
  std::vector<inject::Address> bases;
  for (const auto& module : modules) {
    if (module.kind != inject::ModuleKind::kRuntime) bases.push_back(module.base);
  }
  std::ranges::sort(bases);
  return bases;
}

base::Outcome<void> Session::check() {
  const auto facts = inject::facts_of(order_.pid);
  GEIGER_TRY(inject::check_process(order_.pid, facts, order_.despite_seccomp));
  process_ = base::UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, order_.pid, 0)));
  GEIGER_TRY(inject::check_not_recorded(
      order_.pid, inject::runtime_in(order_.pid, inject::named_modules_of(order_.pid))));
  return check_program(order_.pid);
}

base::Outcome<void> Session::begin() {
  const auto library = GEIGER_TRY(PreloadPath::library());
  program_ = started_as(order_.pid);
  if (program_.empty()) program_ = program_of(order_.pid);
  output_.emplace(program_, options_.recording.file);
  if (!options_.recording.file.empty() && !options_.recording.replaces &&
      access(output_->file().c_str(), F_OK) == 0) {
    return base::Failure{fmt::format("{} exists (-f replaces it)", output_->file())};
  }
  auto home = GEIGER_TRY(control::TraceHome::prepare(order_.pid, output_->directory_for(order_.pid),
                                                     options_.recording.replaces));
  home_.emplace(std::move(home));
  RuntimeSettings settings = options_.recording.runtime;
  settings.broker = home_->broker();
  const auto words = runtime_words(settings, home_->seen_path(), order_.pid);
  modules_ = bases_of(inject::named_modules_of(order_.pid));  // What comes later is new.
  const std::size_t children = family_of(order_.pid).size() - 1;
  const auto attached = inject::attach(order_, library, lines_of(words));
  if (!attached.has_value()) {
    home_->abandon();
    return attached.failure();
  }
  start_ = next_look_ = Clock::now();
  say(fmt::format("attached to {} (pid {}), which stopped for {:.1f} ms; ^C detaches",
                  control::name_for_files(program_), order_.pid,
                  std::chrono::duration<double, std::milli>(attached.value()).count()));
  if (children > 0) {
    say(fmt::format("its {} {} not recorded: attach to each",
                    present::plural(children, "child process"), children == 1 ? "is" : "are"));
  }
  return {};
}

nanoseconds Session::round() {
  nanoseconds wait = feeder_->round();
  if (observer_) {
    observer_->follow(feeder_->writing());
    wait = std::min(wait, nanoseconds(observer_->round()));
    feeder_->ask_residency(observer_->take_questions());
    const auto snapshots = observer_->take_snapshots();
    if (options_.recording.observation.wants_content) {
      for (const auto& trace : snapshots) content_.want(trace.pid, trace.path);
      wait = std::min(wait, content_.round());
    }
    say_what_is_settled();
  }
  if (watch_) {
    watch_->follow(feeder_->writing());
    wait = std::min({wait, watch_->round(), holders_.round()});
  }
  return wait;
}

// Objects that live for a while make what is kept a second look larger than it is, never smaller:
// of a steady program it falls with time.
void Session::say_what_is_settled() {
  const auto& duration = options_.recording.window.duration;
  const nanoseconds elapsed = Clock::now() - start_;
  const nanoseconds due = std::min<nanoseconds>(kRates, duration.value_or(kRates) / kRatesPart);
  if (has_said_what_is_settled_ || elapsed < due) return;
  for (const observe::Writing& writing : feeder_->writing()) {
    const auto kept = writing.pid == order_.pid ? observer_->kept_so_far(writing.path)
                                                : std::optional<observe::KeptSoFar>();
    if (!kept) continue;
    has_said_what_is_settled_ = true;
    say(settled_text(*kept, elapsed, duration));
  }
}

void Session::show_progress() {
  if (options_.recording.is_quiet || isatty(STDERR_FILENO) == 0) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_);
  fmt::print(stderr, "\r\033[Krecording {} for {} s", order_.pid, seconds.count());
  is_drawn_ = true;
}

// Modules that came since get their slots turned too; one second is soon enough for what
// is loaded and rare enough for a process that loads all the time.
std::optional<Session::End> Session::look() {
  if (Clock::now() < next_look_) return std::nullopt;
  next_look_ = Clock::now() + kLook;
  show_progress();
  const auto modules = inject::named_modules_of(order_.pid);
  if (modules.empty()) return std::nullopt;
  const auto runtime = inject::runtime_in(order_.pid, modules);
  if (!runtime) {
    // A process that ends loses its memory before it is seen to have ended.
    const auto facts = inject::facts_of(order_.pid);
    if (!facts || !facts->has_memory) return std::nullopt;
    return End::kReplaced;
  }
  if (runtime->said.state != static_cast<std::uint32_t>(base::AttachState::kAttached)) {
    return End::kDetached;
  }
  std::vector<inject::Address> bases = bases_of(modules);
  const bool is_known = std::ranges::includes(modules_, bases);
  modules_ = std::move(bases);
  if (!is_known) static_cast<void>(inject::follow(order_));
  return std::nullopt;
}

Session::End Session::watch() {
  const auto& duration = options_.recording.window.duration;
  while (true) {
    nanoseconds wait = std::min(round(), nanoseconds(kLook));
    if (const auto end = look()) return *end;
    if (duration) wait = std::min(wait, *duration - (Clock::now() - start_));
    if (wait <= nanoseconds(0)) return End::kAsked;
    std::array<pollfd, 3> sources{pollfd{signals_.get(), POLLIN, 0},
                                  pollfd{process_.get(), POLLIN, 0},
                                  pollfd{feeder_->fd(), POLLIN, 0}};
    const timespec timeout{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
    ppoll(sources.data(), sources.size(), &timeout, nullptr);
    if (sources[1].revents != 0) return End::kGone;
    if (sources[0].revents != 0) return End::kAsked;
  }
}

/// Until it is done, or another signal comes.
void Session::scan_at_end(MemoryScans& scans, const std::string& purpose) {
  for (const auto& writing : feeder_->writing()) {
    if (writing.pid == order_.pid) scans.want(writing.pid, writing.path, true);
  }
  say(fmt::format("{}; ^C ends that", purpose));
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
  }
  for (static_cast<void>(round()); scans.is_busy(); static_cast<void>(round())) {
    std::array<pollfd, 2> sources{pollfd{signals_.get(), POLLIN, 0},
                                  pollfd{process_.get(), POLLIN, 0}};
    const int events = poll(sources.data(), sources.size(), 100);
    if (events > 0) return;
  }
}

void Session::detach_children() const {
  for (const auto& writing : feeder_->writing()) {
    if (writing.pid == order_.pid || writing.pid == 0 || kill(writing.pid, 0) != 0) continue;
    const auto detached = inject::detach({writing.pid, order_.despite_seccomp});
    if (!detached.has_value()) terminal::complain(detached.reason());
  }
}

base::Outcome<void> Session::end(End end) {
  if (is_drawn_) fmt::print(stderr, "\r\033[K");
  static_cast<void>(round());
  if (end == End::kReplaced) {
    terminal::complain("the process executed another program: its recording has ended");
  } else if (end == End::kGone) {
    terminal::complain(fmt::format("process {} ended after {:.1f} s of recording", order_.pid,
                                   seconds_of(Clock::now() - start_)));
  }
  detach_children();
  if (end != End::kAsked) return {};
  const auto detached = inject::detach(order_);
  pollfd ended{process_.get(), POLLIN, 0};
  const bool is_gone = poll(&ended, 1, 0) > 0;
  if (detached.has_value() || is_gone) return {};
  return base::Failure{fmt::format("{}; recording continues in {} ('geiger detach {}' tries again)",
                                   detached.reason(), home_->seen_path(), order_.pid)};
}

void Session::finish() {
  holders_.finish();
  content_.finish();
  watch_.reset();  // It has traces open for writing, as their processes had.
  feeder_->finish();
  const control::WatchLosses losses = feeder_->losses();  // Before the traces change their place.
  const std::string sentences = home_->bring_home();
  if (!sentences.empty()) terminal::complain(sentences.substr(0, sentences.find('\n')));
  const Afterwards afterwards{.directory = home_->home(),
                              .file = output_->file(),
                              .shown = output_->shown_for(order_.pid),
                              .replaces = options_.recording.replaces,
                              .is_quiet = options_.recording.is_quiet,
                              .symbolizes = options_.recording.symbolizes,
                              .root = &home_->root(),
                              .follows_children = false,  // Their environment names no run.
                              .program = order_.pid,
                              .obstacle = "the process allocated nothing",
                              .losses = losses,
                              .unrecorded = {},
                              .observer = observer_ ? &*observer_ : nullptr,
                              .scans = {&holders_, &content_}};
  static_cast<void>(finish_run(afterwards));
}

base::Outcome<bool> Session::perform() {
  GEIGER_TRY(check());
  signals_ = take_over_end_signals();
  GEIGER_TRY(begin());
  control::raise_descriptor_limit();
  feeder_.emplace(home_->watched(), control::is_in_other_pid_namespace(options_.pid),
                  home_->rights());
  if (options_.recording.observation.observes) observer_.emplace(false);
  if (!options_.recording.watch.is_empty()) watch_.emplace(watch_options());
  const End ended = watch();
  if (ended == End::kAsked && options_.recording.watch.holders_at_end) {
    scan_at_end(holders_, "looking for what holds its memory");
  }
  if (ended == End::kAsked && options_.recording.observation.wants_content) {
    scan_at_end(content_, "reading what its memory contains");
  }
  GEIGER_TRY(end(ended));
  finish();
  return ended == End::kAsked || ended == End::kDetached;
}

/// The process's user may own the directory of its traces.
control::WatchOptions Session::watch_options() {
  control::WatchOptions options = options_.recording.watch;
  options.open = [this](const std::string& path) {
    return home_->open(std::string(base::file_name_of(path)));
  };
  options.remove = [this](const std::string& path) {
    home_->remove(std::string(base::file_name_of(path)));
  };
  options.find_holders = [this](pid_t pid, const std::string& trace) { holders_.want(pid, trace); };
  return options;
}

}  // namespace

base::Outcome<bool> attach_and_watch(const AttachOptions& options) {
  return Session(options).perform();
}

}  // namespace geiger::run
