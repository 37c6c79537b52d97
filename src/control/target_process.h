// A process to be controlled, seen from outside: its identity, its user, and geiger's files in it.
//
// A process id may soon belong to another process. So /proc/PID is opened once and everything is
// read through that descriptor: it refers to this one process, and reads fail after its end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/observe/proc_files.h"
#include "base/outcome.h"
#include "base/unique_fd.h"
#include "foreign/process_root.h"
#include "inject/target.h"
#include "trace/format.h"

namespace geiger::control {

/// Whether a process has system call filters (seccomp) besides those of its container, which are
/// also ours if we are in it. If the kernel does not count filters, any filter is taken for such a
/// one.
[[nodiscard]] bool is_confined_beyond(const inject::Confinement& ours,
                                      const inject::Confinement& its);

/// Facts of a process from its files; nothing if it has ended.
[[nodiscard]] std::optional<inject::ProcessFacts> facts_of(const observe::ProcessFiles& files);

/// A file that the process has mapped.
struct MappedFile : foreign::MappedAs {
  bool is_shared = false;
  bool is_writable = false;
  bool is_deleted = false;  ///< Of geiger's files; `path` is then where it was.
};

/// The files of /proc/PID/maps, each once.
[[nodiscard]] std::vector<MappedFile> mapped_files_in(std::string_view maps);

/// The files of geiger that the process has mapped.
struct GeigerFiles {
  bool has_runtime = false;        ///< The library is loaded.
  std::vector<MappedFile> traces;  ///< Its own or, after fork, also its parent's; writable.
  std::optional<MappedFile> bell;  ///< It is dormant, or was.
  /// Its own rendezvous, once it was called; after fork also its parent's.
  std::vector<MappedFile> rendezvous;
};
[[nodiscard]] GeigerFiles geiger_files_in(const std::vector<MappedFile>& files);

class TargetProcess {
 public:
  /// Fails unless `pid` is a process of this user (root: of any user).
  [[nodiscard]] static base::Outcome<TargetProcess> open(pid_t pid);

  [[nodiscard]] const inject::ProcessFacts& facts() const { return facts_; }
  [[nodiscard]] pid_t pid() const { return facts_.group; }
  /// "redis-server (pid 17)".
  [[nodiscard]] std::string shown() const;
  /// Whether it still runs.
  [[nodiscard]] bool is_alive() const;
  /// Whether it may still be loading its libraries: it, or the process before exec, is at most two
  /// seconds old.
  [[nodiscard]] bool has_just_started() const;
  /// Whether it has become another user or changed its root since it was opened.
  [[nodiscard]] bool has_moved() const;

  /// The files of geiger that it maps now. Fails if its maps cannot be read.
  [[nodiscard]] base::Outcome<GeigerFiles> geiger_files() const;
  /// Whether it has filters that it, or a parent of it, installed.
  [[nodiscard]] bool is_confined_further() const;

  /// Its file system, as it was when the process was opened.
  [[nodiscard]] const foreign::ProcessRoot& root() const { return *root_; }
  /// Its own settings of geiger, as it was started with them: lines NAME=VALUE.
  [[nodiscard]] std::string own_words() const;
  /// The path by which the process sees a directory of ours; empty if it does not see it.
  [[nodiscard]] std::string its_name_of(const std::string& directory) const;
  /// A path by which we can open a file that it has mapped; the process's own path if there is
  /// none.
  [[nodiscard]] std::string path_of(const MappedFile& file) const;
  /// Why a deleted file of geiger's cannot be opened, and who can open it.
  [[nodiscard]] std::string loss_of(const MappedFile& file) const;
  /// Opens a file that it has mapped, for reading and writing. Closed if the file is gone, is
  /// another one, or does not belong to us, to the process's user or to root.
  [[nodiscard]] base::UniqueFd open_mapped(const MappedFile& file) const;

 private:
  explicit TargetProcess(pid_t pid) : files_(pid), root_(foreign::ProcessRoot::open(pid)) {}

  observe::ProcessFiles files_;
  inject::ProcessFacts facts_;
  std::optional<foreign::ProcessRoot> root_;
};

// Process ids of other pid namespaces: the id that a process inside one has, also in its traces, is
// another process's outside, or no process's.

/// Whether the process is in another pid namespace than ours.
[[nodiscard]] bool is_in_other_pid_namespace(pid_t pid);

/// The id in our pid namespace of the process that has `inner_pid` in its own and has mapped the
/// file; 0 if not found. Looks at all processes if it is not `inner_pid` itself.
[[nodiscard]] pid_t outer_pid_of(std::uint32_t inner_pid, int trace_fd);

/// Writes the id of its process in our pid namespace to a trace's header.
void record_outer_pid(int trace_fd, std::uint32_t outer_pid);

}  // namespace geiger::control
