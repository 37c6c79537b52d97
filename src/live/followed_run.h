// The run that `live` and `serve` show, named by a process or by its directory: its growing traces
// and its processes.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/follow/follower.h"
#include "analysis/report/profiles/live.h"
#include "base/outcome.h"
#include "control/controlled.h"

namespace geiger::live {

class FollowedRun {
 public:
  /// `word`: a process id, a run directory, a trace file or the FILE of a `geiger run -o` that
  /// runs; empty: the only process of this user that is recorded. The reason of a failure includes
  /// what to do.
  [[nodiscard]] static base::Outcome<FollowedRun> open(const std::string& word);
  /// The run whose traces will appear in `directory`, of the program `pid` that was just
  /// started.
  [[nodiscard]] static FollowedRun of_started(pid_t pid, const std::string& directory);

  /// Looks for traces that are new and reads what was added, at most about `most` bytes of
  /// each; false if there is more to read.
  bool look(Bytes most);
  /// Whether some process may still add to its trace. Without any trace yet: whether the
  /// program runs.
  [[nodiscard]] bool is_running() const;
  /// The follower's picture, in which processes that vanished without an end record were killed.
  [[nodiscard]] profile::Recording picture();

  [[nodiscard]] follow::Follower& follower() { return *follower_; }
  [[nodiscard]] const follow::Follower& follower() const { return *follower_; }
  /// All processes of a picture, with what is read about them now.
  [[nodiscard]] std::vector<report::LiveProcess> processes(const profile::Recording& picture) const;

  /// "redis-server (pid 17)", or the path of the run.
  [[nodiscard]] const std::string& shown() const { return shown_; }
  /// The path that a user can read later: the run directory or the trace.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The process that was named, or that is the only one.
  [[nodiscard]] std::optional<pid_t> pid() const { return pid_; }

 private:
  FollowedRun() : follower_(std::make_unique<follow::Follower>()) {}
  [[nodiscard]] static base::Outcome<FollowedRun> of_process(pid_t pid);
  [[nodiscard]] static base::Outcome<FollowedRun> of_path(const std::string& word);
  [[nodiscard]] std::string state_of(const profile::Process& process) const;
  [[nodiscard]] bool is_target(const profile::Process& process) const;
  [[nodiscard]] bool is_alive(const profile::Process& process) const;

  std::unique_ptr<follow::Follower> follower_;
  std::string shown_, path_;
  std::string directory_;        ///< Where traces appear, as we see it; empty: no more do.
  std::string shown_directory_;  ///< As people see it.
  std::optional<follow::OnlyProcess> only_;  ///< Other traces there are of other runs.
  std::optional<pid_t> pid_;
  std::unique_ptr<control::TargetProcess> target_;
};

/// The value of a word that is a process id.
[[nodiscard]] std::optional<pid_t> process_id_in(const std::string& word);

}  // namespace geiger::live
