// The files of /proc/PID of exactly one process: a process id may soon belong to another process,
// the opened directory does not.
//
// Only reads, and only what the kernel answers from its own books: nothing here stops,
// signals or traces the process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/observe/proc_text.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace geiger::observe {

class ProcessFiles {
 public:
  explicit ProcessFiles(pid_t pid);

  [[nodiscard]] bool is_open() const { return directory_.is_open(); }
  /// Opens a file below /proc/PID; closed if that is refused, with errno set.
  [[nodiscard]] base::UniqueFd open(const char* name) const;
  /// All of a file, at most 64 MiB; nothing if it cannot be read.
  [[nodiscard]] std::optional<std::string> read(const char* name) const;
  /// Nothing if it has no memory any more.
  [[nodiscard]] std::optional<Status> status() const;
  /// The stack pointers of its threads, of the first thousand that could be read.
  [[nodiscard]] std::vector<Address> stack_pointers() const;

 private:
  base::UniqueFd directory_;
};

}  // namespace geiger::observe
