// Watches over one run: signals, job control, storage, the recording window.
#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/observe/observer.h"
#include "analysis/observe/proc_files.h"
#include "base/unique_fd.h"
#include "control/run_watch.h"
#include "control/trace_feeder.h"
#include "run/environment.h"
#include "run/memory_scans.h"

namespace geiger::run {

// Forwards signals that are sent to geiger to the program.

/// Geiger and the program share a process group, so that the terminal, the shell and the kernel
/// treat them as one job. What the kernel sends to the group (^C, ^Z, window size, hang-up) the
/// program gets by itself; what a process sends to geiger's pid alone must be passed on. The two
/// are distinguished by si_code; a kill() of the whole group looks like the latter and reaches the
/// program twice.
///
/// Threads: one. The signals must be blocked (take_over_signals).
class SignalRelay {
 public:
  explicit SignalRelay(pid_t program);

  /// Readable when signals wait.
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// Takes every waiting signal and passes on those that the program did not get. Returns whether a
  /// child changed its state.
  bool relay();

  /// Drops waiting signals: they were meant for a program that has ended. (kill() of a group
  /// reaches the program first, which may be gone before geiger gets its own.)
  void discard();

  /// Stops this process the way the program was stopped, so that a shell sees the
  /// job stop; returns when continued, with the program continued too.
  void stop_like(int signal);

 private:
  void pass_on(const signalfd_siginfo& info);

  pid_t program_;
  base::UniqueFd fd_;
  bool was_continued_ = false;  // the next SIGCONT has done its work already
};

/// Ignores, for this time, signals that end a process. Those to a group, or to all processes of a
/// unit, may reach geiger after the program has ended of them, and are not meant for what geiger
/// does then. Before they are unblocked.
void outlast_late_signals(std::chrono::nanoseconds time);

/// Ends this process by `signal`, without a core file of its own. Returns the
/// exit code to use if the signal cannot end it (process 1 of a namespace).
int die_of(int signal);

// Processes of a run that geiger's library is not in: started with another environment, static or
// privileged.

/// A process and its descendants, with bounds for large ones.
[[nodiscard]] std::vector<pid_t> family_of(pid_t program);

/// Scans a program and its descendants at intervals, in /proc only. What starts and ends
/// between two scans is not seen. A process counts if two scans see it: the first may have come
/// before its libraries. Ends after kMost processes.
class UnrecordedWatch {
 public:
  /// `directory`: the run directory.
  UnrecordedWatch(pid_t program, std::string directory);

  /// Scans if it is time. Returns how long to wait for the next scan.
  std::chrono::nanoseconds round();

  /// A name of an empty trace for each (ingest::name_of_absent).
  [[nodiscard]] const std::vector<std::string>& found() const { return found_; }

  static constexpr std::size_t kMost = 8;

 private:
  using Clock = std::chrono::steady_clock;
  /// By process: the file that it runs.
  using Images = std::map<pid_t, std::string>;

  void look();

  pid_t program_;
  std::string directory_;
  Images recorded_, suspects_, known_;
  std::vector<std::string> found_;
  std::chrono::nanoseconds rest_;
  Clock::time_point next_;
};

/// When to record, counted from the program's start.
struct RecordingWindow {
  std::chrono::nanoseconds delay{0};
  std::optional<std::chrono::nanoseconds> duration;  ///< Nothing: to the end.
};

/// Which memory readings to take of the processes from outside.
struct ObservationOptions {
  bool observes = true;        ///< Memory over time, and where live samples lie.
  bool wants_waste = false;    ///< Also what allocators keep free (--fragmentation).
  bool wants_content = false;  ///< Also what live samples contain (--content).
};

/// One thread, one loop; every wait is a ppoll.
class Supervisor {
 public:
  /// `directory` is the run directory, empty for a program that runs bare.
  Supervisor(pid_t program, const std::string& directory, RecordingWindow window,
             ObservationOptions observation, const control::WatchOptions& watch);

  /// Returns the program's wait status once it has ended. Reaps every other child
  /// on the way (as process 1 of a container must).
  int wait_for_end();

  /// Problems with the traces, once the program has ended.
  [[nodiscard]] control::WatchLosses losses() const {
    return feeder_ ? feeder_->losses() : control::WatchLosses{};
  }

  /// Names of empty traces for processes that ran without geiger's library.
  [[nodiscard]] std::vector<std::string> unrecorded() const {
    return unrecorded_ ? unrecorded_->found() : std::vector<std::string>();
  }

  /// The signal that killed the program, as FileHeader::end_signal has it; 0: none.
  [[nodiscard]] std::uint32_t end_signal() const;

  /// The observations of the processes, once the program has ended; nullptr if none were requested.
  [[nodiscard]] observe::Observer* observer() { return observer_ ? &*observer_ : nullptr; }
  [[nodiscard]] MemoryScans& holders() { return holders_; }
  [[nodiscard]] MemoryScans& content() { return content_; }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::chrono::nanoseconds next_wait(std::chrono::nanoseconds proposed) const;
  void keep_window();
  [[nodiscard]] std::chrono::nanoseconds observe();
  [[nodiscard]] std::chrono::nanoseconds watch();
  void ask_utilization();
  void wait(std::chrono::nanoseconds at_most) const;
  bool reap();

  pid_t program_;
  SignalRelay relay_;
  std::optional<control::TraceFeeder> feeder_;
  std::optional<observe::Observer> observer_;
  MemoryScans holders_{scan_for_holders, keep_whole};
  MemoryScans content_{scan_content, profile::append};
  bool wants_content_ = false;
  std::optional<control::RunWatch> watch_;
  std::optional<UnrecordedWatch> unrecorded_;
  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> opens_;
  std::optional<Clock::time_point> closes_;
  std::optional<Clock::time_point> asks_;  ///< When to ask for the utilization of slabs next.
  std::uint64_t oom_kills_ = observe::oom_kills();  ///< At the start.
  int status_ = 0;
};

// How a program is to be recorded: the options that `run` and `attach` share.

/// The kind of value that --interval was given.
enum class IntervalWish { kNone, kAuto, kSize };

struct RunOptions {
  std::vector<std::string> program;  ///< The program and its arguments.
  std::string file;                  ///< -o; empty: a run directory.
  bool replaces = false;
  bool is_quiet = false;
  bool symbolizes = true;
  bool enables_lttng = false;
  std::string receiver;     ///< --otlp: where to send the run at its end; empty: nowhere.
  std::string allocator;    ///< For find_allocator(); empty: the program's own.
  bool names_node = false;  ///< --node: names of the functions that node compiles.
  bool names_java = false;
  IntervalWish interval = IntervalWish::kNone;
  RuntimeSettings runtime;
  RecordingWindow window;
  ObservationOptions observation;
  control::WatchOptions watch;
};

}  // namespace geiger::run
