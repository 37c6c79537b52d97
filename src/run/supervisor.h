// Watches over one run: signals, job control, storage, the recording window.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/observe/observer.h"
#include "analysis/observe/oom_kills.h"
#include "control/run_watch.h"
#include "control/trace_feeder.h"
#include "run/signal_relay.h"
#include "run/unrecorded.h"

namespace geiger::run {

/// When to record, counted from the program's start.
struct RecordingWindow {
  std::chrono::nanoseconds delay{0};
  std::optional<std::chrono::nanoseconds> duration;  ///< Nothing: to the end.
};

/// Which memory readings to take of the processes from outside.
struct ObservationOptions {
  bool observes = true;      ///< Memory over time, and where live samples lie.
  bool wants_waste = false;  ///< Also what allocators keep free (--fragmentation).
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
  std::optional<control::RunWatch> watch_;
  std::optional<UnrecordedWatch> unrecorded_;
  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> opens_;
  std::optional<Clock::time_point> closes_;
  std::optional<Clock::time_point> asks_;  ///< When to ask for the utilization of slabs next.
  std::uint64_t oom_kills_ = observe::oom_kills();  ///< At the start.
  int status_ = 0;
};

}  // namespace geiger::run
