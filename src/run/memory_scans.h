// Scans of the memory of processes while they are recorded: what holds it (--holders), what it
// contains (--content).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>

#include "analysis/holders/holders.h"
#include "analysis/profile/recording/observations.h"
#include "base/outcome.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "control/control_page.h"

namespace geiger::run {

/// What holds the memory of a process that is recorded, scanned now and stored in its trace.
/// Returns the message for the user.
[[nodiscard]] base::Outcome<std::string> store_holders(pid_t pid, control::LiveTrace trace);

/// The later one, unless it was broken off, as when the process ends, and the kept one was not.
/// Of what holds memory: the later answer, unless it was broken off, as when the process ends, and
/// the kept one was not.
void keep_whole(profile::Observations& kept, profile::Observations later);

/// Each scan is done by a child of ours; of a process at most one at a time, and all of it together
/// take a part of a processor. Has no thread of its own: it works when it is called.
class MemoryScans {
 public:
  /// Who waits for the answer: a user, or the process itself in its exit.
  enum class Wait : std::uint8_t { kNone, kUser, kExit };
  using Scan = profile::Observations (*)(pid_t pid, const std::string& trace, Wait wait);
  /// What stays of two answers about a trace.
  using Keep = void (*)(profile::Observations& kept, profile::Observations later);

  MemoryScans(Scan scan, Keep keep) : scan_(scan), keep_(keep) {}
  MemoryScans(const MemoryScans&) = delete;
  MemoryScans& operator=(const MemoryScans&) = delete;
  /// Kills what is under way.
  ~MemoryScans();

  /// Scan process `pid`, which writes the trace: now, or when the scan under way is done and has
  /// been paid for. `is_awaited`: a user waits for it, so it takes what it needs.
  void want(pid_t pid, const std::string& trace, bool is_awaited = false);
  /// Scan a process that waits for it in its exit. Asked again and again; true: it is done, or
  /// cannot be.
  [[nodiscard]] bool have_last(pid_t pid, const std::string& trace);
  /// Takes answers and begins what is wanted. Returns how long the next round may wait.
  std::chrono::nanoseconds round();
  /// Whether scans are under way.
  [[nodiscard]] bool is_busy() const;
  /// Waits for what is under way: its processes have ended, so not for long. Begins no more.
  void finish();

  /// Adds the answer that was kept about a trace, by the name of its file, and forgets it. False:
  /// there is none.
  bool add_to(const std::string& trace, profile::Observations& observations);

 private:
  struct Process {
    std::string trace;  ///< Of the scan under way, or of the next one.
    bool is_wanted = false, is_awaited = false;
    std::string exiting;    ///< The trace of a process that waits in its exit.
    pid_t child = 0;        ///< 0: none is under way.
    base::UniqueFd handle;  ///< Its: other code may have reaped it, so that its id is another's.
    base::UniqueFd answer;
    std::string received;
    Nanoseconds begun = 0, due = 0;
  };

  void begin(pid_t pid, Process& process);
  /// False while it is under way.
  bool receive(Process& process);

  Scan scan_;
  Keep keep_;
  std::map<pid_t, Process> processes_;
  std::map<std::string, profile::Observations> answers_;  ///< By name of the trace's file.
};

/// holders::find_holders; where it is not awaited, with a part of a processor and low priority.
[[nodiscard]] profile::Observations scan_for_holders(pid_t pid, const std::string& trace,
                                                     MemoryScans::Wait wait);
/// content::read_content, which is quick: the longer it takes, the more changes meanwhile.
[[nodiscard]] profile::Observations scan_content(pid_t pid, const std::string& trace,
                                                 MemoryScans::Wait wait);

}  // namespace geiger::run
