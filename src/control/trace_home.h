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

#include <memory>
#include <optional>
#include <string>

#include "base/outcome.h"
#include "control/trace_broker.h"
#include "foreign/process_root.h"

namespace geiger::control {

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
