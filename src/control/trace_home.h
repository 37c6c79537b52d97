// Where an attached process writes its traces, and where they are moved in the end: the process may
// be another user's, or see other file systems.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/outcome.h"
#include "base/unique_fd.h"

namespace geiger::control {

class TraceHome {
 public:
  /// Creates `home`, and if the process cannot write there, a directory under its own /tmp.
  [[nodiscard]] static base::Outcome<TraceHome> prepare(pid_t pid, const std::string& home,
                                                        bool replaces);

  /// A directory that the process can write traces to, which stay there: `home`, created if need
  /// be, else one below its own /tmp. It belongs to the process's user. Returns its path in the
  /// process.
  [[nodiscard]] static base::Outcome<std::string> make_directory(pid_t pid,
                                                                 const std::string& home);

  /// The directory's path in the process.
  [[nodiscard]] const std::string& told() const { return told_; }
  /// The directory's path for us while the process writes, also after its end.
  [[nodiscard]] const std::string& watched() const { return watched_; }
  [[nodiscard]] const std::string& home() const { return home_; }

  /// Moves traces that no process writes any more to home(). A process that still runs keeps its
  /// mappings of the old files, without their storage. Returns sentences for the user, usually
  /// none.
  [[nodiscard]] std::string bring_home() const;
  /// Removes what was created, after a failure.
  void abandon() const;

 private:
  TraceHome() = default;
  [[nodiscard]] bool find_place_there(pid_t pid, unsigned uid, unsigned gid);
  [[nodiscard]] bool is_away() const { return away_.is_open(); }
  void remove_away() const;

  std::string home_, told_, watched_, away_name_;
  base::UniqueFd away_;
};

}  // namespace geiger::control
