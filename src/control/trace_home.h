// Where an attached process writes its traces, and where they are moved in the end: the process may
// be another user's, or see other file systems.
//
//   the process is ours and sees the directory   it writes there
//   we are root, and it can reach a socket       a broker creates its traces there
//   otherwise                                    a directory in its own /tmp, made with its rights
//
// So root's directory stays root's, and nothing is done in one of the process that it could not do
// itself.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/outcome.h"
#include "base/unique_fd.h"
#include "foreign/process_root.h"
#include "trace/rendezvous.h"

namespace geiger::control {

// Makes traces for processes that may not make them themselves (trace/rendezvous.h): a thread that
// answers at once, whatever the supervisor is reading meanwhile.

class TraceBroker {
 public:
  /// For the traces in `directory`, and processes in the network namespace of `pid` (default:
  /// ours). Null where none is needed, because processes of a user who is not root stay that
  /// user's, or if no socket or thread is available.
  [[nodiscard]] static std::unique_ptr<TraceBroker> open(const std::string& directory,
                                                         pid_t pid = getpid());
  TraceBroker(const TraceBroker&) = delete;
  TraceBroker& operator=(const TraceBroker&) = delete;
  ~TraceBroker();

  /// The value of GEIGER_BROKER.
  [[nodiscard]] const std::string& digits() const { return digits_; }

 private:
  TraceBroker() = default;
  [[nodiscard]] bool listen(const std::string& directory, pid_t pid);
  void serve() const;
  void answer(int connection) const;
  [[nodiscard]] trace::BrokerAnswer perform(const trace::BrokerRequest& request,
                                            base::UniqueFd& made) const;

  base::UniqueFd directory_, socket_;
  std::string digits_;
  std::atomic<bool> is_ending_{false};
  std::thread thread_;
};

/// Whether this is the name of a trace, and of nothing outside of its directory.
[[nodiscard]] bool is_trace_name(std::string_view name);

class TraceHome {
 public:
  /// Creates `home`, and if the process cannot write there, another place.
  [[nodiscard]] static base::Outcome<TraceHome> prepare(pid_t pid, const std::string& home,
                                                        bool replaces);

  /// A directory that the process can write traces to, which stay there: `home`, created if need
  /// be, else one below its own /tmp. It belongs to the process's user, who may do with it what it
  /// likes: do not use it as root afterwards. Returns its path in the process.
  [[nodiscard]] static base::Outcome<std::string> make_directory(pid_t pid,
                                                                 const std::string& home);

  /// The directory's path in the process.
  [[nodiscard]] const std::string& seen_path() const { return seen_path_; }
  /// The directory's path for us while the process writes, also after its end.
  [[nodiscard]] const std::string& watched() const { return watched_; }
  [[nodiscard]] const std::string& home() const { return home_; }
  /// GEIGER_BROKER for the process; empty: it needs none.
  [[nodiscard]] std::string broker() const { return broker_ ? broker_->digits() : ""; }
  /// The rights with which traces are to be opened in watched(); nothing: ours.
  [[nodiscard]] std::optional<foreign::Rights> rights() const;
  /// Opens a trace in watched(), with these rights, to change its control page.
  [[nodiscard]] base::UniqueFd open(const std::string& name) const;
  /// Removes a trace from watched(), with these rights.
  void remove(const std::string& name) const;

  /// The process's file system, as it was when the directory was prepared.
  [[nodiscard]] const foreign::ProcessRoot& root() const { return *root_; }

  /// Moves traces that no process writes any more to home(). A process that still runs keeps its
  /// mappings of the old files, without their storage. Returns sentences for the user, usually
  /// none.
  [[nodiscard]] std::string bring_home() const;
  /// Removes what was created, after a failure.
  void abandon() const;

 private:
  TraceHome() = default;
  [[nodiscard]] bool find_place_there();
  [[nodiscard]] bool is_away() const { return away_.has_value(); }
  [[nodiscard]] std::string bring_home(const std::string& name) const;
  void remove_away() const;

  std::string home_, seen_path_, watched_;
  std::unique_ptr<TraceBroker> broker_;
  std::optional<foreign::ProcessRoot> root_;
  std::optional<foreign::NewDirectory> away_;
};

}  // namespace geiger::control
