// Where an attached process writes its traces, and where they are to be in the end: it may
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

  /// A directory that the process can write traces to and that is nobody's to bring home: `home`,
  /// made if need be, else one below its own /tmp. Both belong to its user. As the process names
  /// it.
  [[nodiscard]] static base::Outcome<std::string> make_directory(pid_t pid,
                                                                 const std::string& home);

  /// The directory as the process names it.
  [[nodiscard]] const std::string& told() const { return told_; }
  /// Where we find the traces while it writes them, also when it is gone.
  [[nodiscard]] const std::string& watched() const { return watched_; }
  [[nodiscard]] const std::string& home() const { return home_; }

  /// Makes files at home of traces that no process writes any more. A process that lives on keeps
  /// its mappings: it keeps the old files, without their storage. Sentences for the user, usually
  /// none.
  [[nodiscard]] std::string bring_home() const;
  /// Removes what was made, when nothing came of it.
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
