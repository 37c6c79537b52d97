// Allocates storage ahead of the programs that write traces.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/observe/observer.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "control/control_page.h"
#include "foreign/process_root.h"
#include "trace/format.h"

namespace geiger::control {

/// Device and inode.
using FileId = std::pair<dev_t, ino_t>;

/// A trace that a process is writing, as its supervisor sees it: the header is
/// read, the control page written, both mapped.
class WatchedTrace {
 public:
  enum class Opened { kYes, kNotYet, kForeign };

  /// Maps the trace `name` in `directory_fd`, opened with these rights, or ours. kNotYet: its
  /// header is not complete.
  [[nodiscard]] static Opened open(int directory_fd, const std::string& name,
                                   const std::optional<foreign::Rights>& rights,
                                   WatchedTrace& trace);

  WatchedTrace() = default;
  WatchedTrace(WatchedTrace&& other) noexcept { swap(other); }
  WatchedTrace& operator=(WatchedTrace&& other) noexcept {
    swap(other);
    return *this;
  }
  WatchedTrace(const WatchedTrace&) = delete;
  WatchedTrace& operator=(const WatchedTrace&) = delete;
  /// Makes the runtime allocate its own storage from now on.
  ~WatchedTrace();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] FileId file() const;
  /// In our pid namespace; 0 if the process is in another one and was not found.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Whether its process is the first of a pid namespace, so that its id does not apply in ours.
  [[nodiscard]] bool begins_namespace() const { return header().parent_pid == 0; }
  /// Finds pid() among the processes that map the trace, and records it.
  void find_outer_pid();
  [[nodiscard]] Nanoseconds start() const { return header().start_monotonic; }
  [[nodiscard]] Nanoseconds image_start() const {
    return header().image_start != 0 ? header().image_start : start();
  }
  [[nodiscard]] trace::State state() const;
  /// The errno of the last refused allocation, 0 if none was refused.
  [[nodiscard]] int refused() const { return refused_; }

  void set_paused(bool is_paused);
  /// Requests the utilization of the slabs of live samples.
  void ask_utilization();
  /// Requests how much of each live sample is in memory.
  void ask_residency();
  /// Raises the watermark if the writer comes close to it. Returns whether the trace grows so fast
  /// that this must be called again soon.
  bool feed();

 private:
  void swap(WatchedTrace& other) noexcept;
  [[nodiscard]] const trace::FileHeader& header() const { return front_.header(); }
  [[nodiscard]] Bytes bytes_ahead(Bytes tail) const;
  void allocate(Bytes from, Bytes to);

  std::string name_;
  base::UniqueFd fd_;
  pid_t pid_ = 0;
  TraceFront front_;
  Bytes capacity_ = 0;
  Bytes last_tail_ = 0;
  Bytes growth_ = 0;  // largest recent step, halved at every call
  int refused_ = 0;
};

/// Raises this process's soft limit of descriptors to its hard one: the supervisor needs up to four
/// for each process that it watches, whatever the program's own limit. To be called when no program
/// will inherit the limit.
void raise_descriptor_limit();

/// Problems with the traces of a run.
struct WatchLosses {
  int refused = 0;       ///< The errno of the last refused allocation, 0 if none was refused.
  std::size_t late = 0;  ///< Traces that had to wait for descriptors, or still wait.
  /// Names of the watched traces whose files are no longer in the run directory. Of a process image
  /// only the newest segment: earlier ones may be deleted on request.
  std::vector<std::string> missing;
  /// Those that are still in the run directory, by their new names: logrotate renames them.
  std::vector<std::string> renamed;
  /// The run directory's new path if it was moved; empty if not, or if it is deleted.
  std::string moved_to;
};

/// All traces of one run directory. Threads: one.
///
/// It watches as many at a time as there are descriptors, four for each; others wait until watched
/// ones end, and meanwhile their processes allocate the storage.
class TraceFeeder {
 public:
  /// `has_namespaces`: the processes are in another pid namespace. This is also detected when the
  /// first process of a namespace writes a trace.
  /// `rights`: those of the process whose directory it is, if it is not ours.
  explicit TraceFeeder(std::string directory, bool has_namespaces = false,
                       std::optional<foreign::Rights> rights = std::nullopt);
  ~TraceFeeder();
  TraceFeeder(const TraceFeeder&) = delete;
  TraceFeeder& operator=(const TraceFeeder&) = delete;

  /// Readable when a trace appeared; -1 if inotify is not available.
  [[nodiscard]] int fd() const { return inotify_.get(); }
  /// One round: finds new traces, allocates ahead, releases ended ones. Returns how long the next
  /// round may wait.
  std::chrono::milliseconds round();
  /// Switches recording off or on in every process, present and future.
  void set_paused(bool is_paused);
  /// Releases every trace, and looks for no more.
  void finish();

  /// Requests the utilization of slabs from every process.
  void ask_utilization();
  /// Requests from the processes that write these traces how much of their live samples is in
  /// memory.
  void ask_residency(const std::vector<std::string>& paths);
  /// The traces being written now.
  [[nodiscard]] std::vector<observe::Writing> writing() const;

  [[nodiscard]] WatchLosses losses() const;

 private:
  /// The newest segment of a process image.
  struct Newest {
    std::string name;
    FileId file;
  };

  /// Its name in the run directory; empty if it is not there.
  [[nodiscard]] std::string name_of(const FileId& file) const;
  [[nodiscard]] std::string moved_to() const;
  [[nodiscard]] bool is_full() const { return watched_.size() >= most_; }
  void discover();
  bool adopt(const std::string& name);
  void let_go_of_ended();
  [[nodiscard]] std::string path_of(const WatchedTrace& trace) const;
  [[nodiscard]] bool is_superseded(std::size_t index) const;

  std::string directory_;
  base::UniqueFd directory_fd_;
  base::UniqueFd inotify_;
  int watch_ = -1;
  std::vector<WatchedTrace> watched_;
  std::set<std::string> known_;
  std::set<std::string> late_;
  std::map<std::pair<pid_t, Nanoseconds>, Newest> newest_;
  std::size_t most_;         // that may be watched at a time
  bool has_pending_ = true;  // something may have appeared that is not adopted yet
  bool has_namespaces_;
  std::optional<foreign::Rights> rights_;
  bool is_paused_ = false;
  bool sets_paused_ = false;
  int idle_rounds_ = 0;
  int refused_ = 0;
};

/// Whether some process still maps `path`, or has it open, for writing. The kernel grants a read
/// lease only if no process does, so neither reused pids nor pid namespaces matter. On a file
/// system without leases: whether a process with this pid exists.
[[nodiscard]] bool is_being_written(const std::string& path, pid_t pid);

}  // namespace geiger::control
