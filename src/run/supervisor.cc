#include "run/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/ingest/traces.h"
#include "analysis/observe/proc_files.h"
#include "base/clock.h"
#include "base/text.h"
#include "control/run_directory.h"
#include "control/target_process.h"
#include "trace/format.h"

namespace geiger::run {

namespace {

sigset_t blocked_signals() {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

// The state letter of /proc/PID/stat follows the last parenthesis of the name.
bool is_stopped(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  const auto got = fd.is_open() ? read(fd.get(), text.data(), text.size()) : -1;
  if (got <= 0) return true;  // unknown: one SIGCONT too many does no harm
  const std::string_view stat(text.data(), static_cast<std::size_t>(got));
  const auto name_end = stat.rfind(')');
  return name_end != std::string_view::npos && name_end + 2 < stat.size() &&
         stat[name_end + 2] == 'T';
}

bool reaches_program_by_itself(const signalfd_siginfo& info) {
  if (info.ssi_code <= 0) return false;
  // A hang-up goes to the leader of the session alone.
  return !(info.ssi_signo == SIGHUP && getsid(0) == getpid());
}

// Takes the default action of `signal` now, whatever the mask and the disposition
// were, and puts them back if the process lives on.
void take_default_action(int signal) {
  struct sigaction by_default {};
  struct sigaction before {};
  by_default.sa_handler = SIG_DFL;
  if (signal != SIGSTOP) sigaction(signal, &by_default, &before);
  (void)raise(signal);
  sigset_t one;
  sigset_t mask;
  sigemptyset(&one);
  sigaddset(&one, signal);
  sigprocmask(SIG_UNBLOCK, &one, &mask);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (signal != SIGSTOP) sigaction(signal, &before, nullptr);
}

}  // namespace

SignalRelay::SignalRelay(pid_t program) : program_(program) {
  const sigset_t mask = blocked_signals();
  fd_ = base::UniqueFd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool SignalRelay::relay() {
  bool child_changed = false;
  signalfd_siginfo info{};
  while (read(fd_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD) {
      child_changed = true;
    } else {
      pass_on(info);
    }
  }
  return child_changed;
}

void SignalRelay::discard() {
  signalfd_siginfo info{};
  while (read(fd_.get(), &info, sizeof info) == sizeof info) {
  }
}

void SignalRelay::pass_on(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  const bool is_own = info.ssi_code <= 0 && info.ssi_pid == static_cast<std::uint32_t>(getpid());
  if (is_own || reaches_program_by_itself(info)) return;
  if (signal == SIGCONT && was_continued_) {
    was_continued_ = false;
    return;
  }
  if (info.ssi_code == SI_QUEUE) {
    sigval value{};
    value.sival_ptr = reinterpret_cast<void*>(info.ssi_ptr);
    sigqueue(program_, signal, value);
  } else {
    kill(program_, signal);
  }
}

void SignalRelay::stop_like(int signal) {
  relay();  // what came before the stop belongs before it
  take_default_action(signal);
  was_continued_ = true;
  if (is_stopped(program_)) kill(program_, SIGCONT);
}

namespace {

constinit std::atomic<Nanoseconds> late_until{0};
static_assert(std::atomic<Nanoseconds>::is_always_lock_free);

void end_unless_late(int signal) {
  if (base::monotonic_now() < late_until.load(std::memory_order_relaxed)) return;
  std::signal(signal, SIG_DFL);
  (void)raise(signal);  // Delivered when this handler returns.
}

}  // namespace

void outlast_late_signals(std::chrono::nanoseconds time) {
  late_until.store(base::monotonic_now() + static_cast<Nanoseconds>(time.count()),
                   std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = end_unless_late;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  }
}

int die_of(int signal) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);  // a core_pattern that is a pipe ignores the limit
  take_default_action(signal);
  return 128 + signal;
}

namespace {

using ingest::Absence;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::string_view kRuntime = "libgeiger-preload.so";
constexpr milliseconds kFirst(100), kSecondLook(20), kLongest(5000);
/// Looks take at most a kShare-th of a processor.
constexpr int kShare = 200;
/// Of a run with more processes, and of a process with more threads, only this many are seen.
constexpr std::size_t kLargestFamily = 4096, kMostThreads = 256;

nanoseconds own_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

void add_children(pid_t pid, std::vector<pid_t>& all) {
  std::error_code error;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  const observe::ProcessFiles files(pid);
  std::size_t threads = 0;
  for (auto task = std::filesystem::directory_iterator(tasks, error);
       !error && task != std::filesystem::directory_iterator() && threads < kMostThreads;
       task.increment(error), ++threads) {
    const std::string name = "task/" + task->path().filename().string() + "/children";
    const auto text = files.read(name.c_str());
    if (!text) continue;
    for (std::string_view rest = *text; !rest.empty() && all.size() < kLargestFamily;) {
      const auto child = base::number_in<pid_t>(base::take_part(rest, ' '));
      if (child) all.push_back(*child);
    }
  }
}

}  // namespace

std::vector<pid_t> family_of(pid_t program) {
  std::vector<pid_t> all{program};
  for (std::size_t i = 0; i < all.size(); ++i) add_children(all[i], all);
  return all;
}

namespace {

/// The file that a process runs; nothing if it has ended.
std::optional<std::string> image_of(pid_t pid) {
  std::array<char, PATH_MAX> path{};
  const std::string link = fmt::format("/proc/{}/exe", pid);
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  if (size >= 0) return std::string(path.data(), static_cast<std::size_t>(size));
  // Another user's, or one that hides itself: the name must do.
  if (errno != EACCES) return std::nullopt;
  auto name = observe::ProcessFiles(pid).read("comm");
  if (name && name->ends_with('\n')) name->pop_back();
  return name;
}

bool has_trace(const std::string& directory, pid_t pid) {
  return std::ranges::any_of(control::traces_in(directory), [&](const std::string& name) {
    const auto named = ingest::process_named(name);
    return named && named->pid == pid;
  });
}

/// Why the library is not in a process, or nothing: it is, or may still come.
std::optional<Absence> absence_in(pid_t pid, const std::string& directory) {
  const observe::ProcessFiles process(pid);
  const auto maps = process.read("maps");
  if (!maps) {
    const bool is_hidden = errno == EACCES && !has_trace(directory, pid);
    return is_hidden ? std::optional(Absence::kIgnored) : std::nullopt;
  }
  const auto files = control::mapped_files_in(*maps);
  const control::GeigerFiles ours = control::geiger_files_in(files);
  if (files.empty() || ours.has_runtime || !ours.traces.empty() || ours.bell) return std::nullopt;
  const auto has = [&](std::string_view start) {
    return std::ranges::any_of(files, [&](const control::MappedFile& file) {
      return base::file_name_of(file.path).starts_with(start);
    });
  };
  // Preloaded libraries come before those that the program needs.
  const bool is_loading = has("ld-linux") && !has("libc.so") && !has("libc-");
  if (is_loading) return std::nullopt;
  if (!has("ld-")) return Absence::kStatic;
  const auto environment = process.read("environ");
  const bool is_asked = !environment || environment->find(kRuntime) != std::string::npos;
  return is_asked ? Absence::kIgnored : Absence::kEnvironment;
}

}  // namespace

UnrecordedWatch::UnrecordedWatch(pid_t program, std::string directory)
    : program_(program),
      directory_(std::move(directory)),
      rest_(kFirst),
      next_(Clock::now() + kFirst) {}

std::chrono::nanoseconds UnrecordedWatch::round() {
  if (found_.size() >= kMost) return std::chrono::hours(1);
  if (Clock::now() < next_) return next_ - Clock::now();
  const nanoseconds begun = own_time();
  look();
  const nanoseconds taken = own_time() - begun;
  nanoseconds rest = kSecondLook;
  if (suspects_.empty()) {
    rest = rest_;
    rest_ = std::min<nanoseconds>(2 * rest_, kLongest);
  }
  next_ = Clock::now() + std::max(rest, kShare * taken);
  return next_ - Clock::now();
}

void UnrecordedWatch::look() {
  Images recorded, suspects;
  for (const pid_t pid : family_of(program_)) {
    const auto image = image_of(pid);
    if (!image) continue;
    const auto is_in = [&](const Images& images) {
      const auto found = images.find(pid);
      return found != images.end() && found->second == *image;
    };
    if (is_in(known_)) continue;
    // Maps of a large process hold up its threads, so those of a recorded one are read once.
    if (is_in(recorded_)) {
      recorded.insert({pid, *image});
      continue;
    }
    const auto absence = absence_in(pid, directory_);
    if (!absence) {
      recorded.insert({pid, *image});
    } else if (is_in(suspects_) && found_.size() < kMost) {
      known_[pid] = *image;
      const std::string program = control::name_for_files(*image);
      found_.push_back(ingest::name_of_absent(program, pid, *absence));
    } else {
      suspects.insert({pid, *image});
    }
  }
  recorded_ = std::move(recorded);
  suspects_ = std::move(suspects);
}

namespace {

using std::chrono::nanoseconds;

// Without traces nothing but signals wakes the loop.
constexpr nanoseconds kForever = std::chrono::hours(1);

timespec to_timespec(nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {static_cast<time_t>(seconds.count()), static_cast<long>((time - seconds).count())};
}

}  // namespace

Supervisor::Supervisor(pid_t program, const std::string& directory, RecordingWindow window,
                       ObservationOptions observation, const control::WatchOptions& watch)
    : program_(program), relay_(program) {
  if (directory.empty()) return;
  feeder_.emplace(directory);
  unrecorded_.emplace(program, directory);
  if (!watch.is_empty()) {
    control::WatchOptions options = watch;
    options.find_holders = [this](pid_t pid, const std::string& trace) {
      holders_.want(pid, trace);
    };
    options.have_last_holders = [this](pid_t pid, const std::string& trace) {
      return holders_.have_last(pid, trace);
    };
    watch_.emplace(std::move(options));
  }
  if (observation.observes) observer_.emplace(observation.wants_waste);
  wants_content_ = observation.wants_content;
  if (observer_ && observation.wants_waste) asks_ = start_ + std::chrono::milliseconds(500);
  if (window.delay.count() > 0) {
    opens_ = start_ + window.delay;
    feeder_->set_paused(true);
  }
  if (window.duration) closes_ = start_ + window.delay + *window.duration;
}

// Stops and continuations of the program become ours; ends of other processes are only noted.
bool Supervisor::reap() {
  int status = 0;
  pid_t pid = 0;
  rusage usage{};
  while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage)) > 0) {
    if (pid != program_) continue;
    if (WIFSTOPPED(status)) {
      relay_.stop_like(WSTOPSIG(status));
    } else {
      status_ = status;
      if (observer_) observer_->take_maximum(static_cast<Bytes>(usage.ru_maxrss) * kKiB);
      return true;
    }
  }
  return false;
}

void Supervisor::keep_window() {
  const auto now = Clock::now();
  if (opens_ && now >= *opens_) {
    feeder_->set_paused(false);
    opens_.reset();
  }
  if (closes_ && now >= *closes_) {
    feeder_->set_paused(true);
    closes_.reset();
  }
}

// Each answer takes the program's time and a record per live sample, so the rests grow
// with the run: the last answer is at most a tenth of the run, and a second, old.
void Supervisor::ask_utilization() {
  const auto now = Clock::now();
  if (!asks_ || now < *asks_) return;
  feeder_->ask_utilization();
  asks_ = now + std::chrono::seconds(1) + (now - start_) / 10;
}

nanoseconds Supervisor::observe() {
  if (!observer_) return kForever;
  ask_utilization();
  observer_->follow(feeder_->writing());
  const nanoseconds wait(observer_->round());
  feeder_->ask_residency(observer_->take_questions());
  const auto snapshots = observer_->take_snapshots();
  if (!wants_content_) return wait;
  for (const observe::Writing& trace : snapshots) content_.want(trace.pid, trace.path);
  return std::min(wait, content_.round());
}

nanoseconds Supervisor::watch() {
  if (!watch_) return kForever;
  watch_->follow(feeder_->writing());
  const nanoseconds wait = watch_->round();
  return std::min(wait, holders_.round());
}

nanoseconds Supervisor::next_wait(nanoseconds proposed) const {
  const auto now = Clock::now();
  for (const auto& instant : {opens_, closes_, asks_}) {
    if (instant) proposed = std::min(proposed, std::max(*instant - now, nanoseconds(0)));
  }
  return proposed;
}

void Supervisor::wait(nanoseconds at_most) const {
  std::array<pollfd, 2> sources{pollfd{relay_.fd(), POLLIN, 0},
                                pollfd{feeder_ ? feeder_->fd() : -1, POLLIN, 0}};
  const timespec timeout = to_timespec(at_most);
  ppoll(sources.data(), sources.size(), &timeout, nullptr);
}

int Supervisor::wait_for_end() {
  while (true) {
    nanoseconds idle = kForever;
    if (feeder_) {
      idle = feeder_->round();
      keep_window();
      idle = std::min({idle, observe(), watch(), unrecorded_->round()});
    }
    wait(next_wait(idle));
    if (relay_.relay() && reap()) break;
  }
  holders_.finish();
  content_.finish();
  if (feeder_) feeder_->finish();
  watch_.reset();  // It has traces open for writing, as their processes had.
  relay_.discard();
  return status_;
}

std::uint32_t Supervisor::end_signal() const {
  if (!WIFSIGNALED(status_)) return 0;
  const auto signal = static_cast<std::uint32_t>(WTERMSIG(status_));
  const bool may_lack_memory = signal == SIGKILL && observe::oom_kills() > oom_kills_;
  return may_lack_memory ? signal | trace::kEndShortOfMemory : signal;
}

}  // namespace geiger::run
