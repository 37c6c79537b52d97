// Processes of a run that go on after its program ended: daemons, jobs in the background.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/units.h"

namespace geiger::run {

struct LeftProcess {
  pid_t pid = 0;
  pid_t own_pid = 0;  ///< In its own pid namespace, by which its trace is named.
  std::string name;   ///< As the kernel names it.
};

/// The processes that were started with the environment of the run of `directory`, whether they are
/// recorded or not, by their ids. Looks once at all processes of /proc; after a short run only at
/// those with ids after the `program`'s, as ids are given in turn. Processes whose environment
/// cannot be read, or was cleared, are not found.
[[nodiscard]] std::vector<LeftProcess> processes_left(const std::string& directory, pid_t program,
                                                      Nanoseconds ran_for);

}  // namespace geiger::run
