// Keeps storage allocated ahead of the programs that write traces.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/observe/observer.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "control/trace_front.h"
#include "trace/format.h"

namespace geiger::control {

/// Device and inode.
using FileId = std::pair<dev_t, ino_t>;

/// A trace that a process is writing, as its supervisor sees it: the header is
/// read, the control page written, both mapped.
class WatchedTrace {
 public:
  enum class Opened { kYes, kNotYet, kForeign };

  /// Maps the trace `name` in `directory_fd`. kNotYet: its header is not whole.
  [[nodiscard]] static Opened open(int directory_fd, const std::string& name, WatchedTrace& trace);

  WatchedTrace() = default;
  WatchedTrace(WatchedTrace&& other) noexcept { swap(other); }
  WatchedTrace& operator=(WatchedTrace&& other) noexcept {
    swap(other);
    return *this;
  }
  WatchedTrace(const WatchedTrace&) = delete;
  WatchedTrace& operator=(const WatchedTrace&) = delete;
  /// Makes the runtime allocate its own storage from here on.
  ~WatchedTrace();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] FileId file() const;
  /// As we know the process; 0 if it is in another pid namespace and cannot be found there.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Whether its process is the first of a pid namespace, so that its id is not ours.
  [[nodiscard]] bool begins_namespace() const { return header().parent_pid == 0; }
  /// Finds out pid() by way of the processes that map the trace, and records it.
  void find_outer_pid();
  [[nodiscard]] Nanoseconds start() const { return header().start_monotonic; }
  [[nodiscard]] Nanoseconds image_start() const {
    return header().image_start != 0 ? header().image_start : start();
  }
  [[nodiscard]] trace::State state() const;
  /// The errno of the last refused allocation, 0 if none was refused.
  [[nodiscard]] int refused() const { return refused_; }

  void set_paused(bool is_paused);
  /// Asks for the utilization of the slabs that live samples lie in.
  void ask_utilization();
  /// Asks how much of each live sample is in memory.
  void ask_residency();
  /// Raises the watermark where the writer comes close. Returns whether so much was added
  /// of late that it wants to be asked again soon.
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
/// for each process that it watches, however few the program may have. To be called when no program
/// will inherit the limit.
void raise_descriptor_limit();

/// What went wrong with the traces of a run.
struct WatchLosses {
  int refused = 0;       ///< The errno of the last refused allocation, 0 if none was refused.
  std::size_t late = 0;  ///< Traces that had to wait for descriptors, or still do.
  /// The watched traces whose files are no longer in the run directory, by name. Of a process image
  /// only its newest segment: earlier ones are deleted where that was asked for.
  std::vector<std::string> missing;
  /// Those of them that are still in the run directory, by their new names: what logrotate leaves.
  std::vector<std::string> renamed;
  /// Where the run directory is now, if it was moved; empty if it was not, or is deleted.
  std::string moved_to;
};

/// All traces of one run directory. Threads: one.
///
/// It watches as many at a time as there are descriptors for, four for each; others wait until
/// watched ones end, and allocate their storage themselves meanwhile.
class TraceFeeder {
 public:
  /// `has_namespaces`: the processes are in another pid namespace. It is also noticed when the
  /// first process of one writes a trace.
  explicit TraceFeeder(std::string directory, bool has_namespaces = false);

  /// Readable when a trace appeared; -1 where the system refuses to say.
  [[nodiscard]] int fd() const { return inotify_.get(); }
  /// One round: finds new traces, allocates ahead, lets go of ended ones. Returns
  /// how long the next round may wait.
  std::chrono::milliseconds round();
  /// Switches recording off or on in every process, present and future.
  void set_paused(bool is_paused);
  /// Lets go of every trace.
  void finish() { watched_.clear(); }

  /// Asks every process for the utilization of slabs.
  void ask_utilization();
  /// Asks the processes that write these traces how much of their live samples is in memory.
  void ask_residency(const std::vector<std::string>& paths);
  /// The traces that processes write now.
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
  std::vector<WatchedTrace> watched_;
  std::set<std::string> known_;
  std::set<std::string> late_;
  std::map<std::pair<pid_t, Nanoseconds>, Newest> newest_;
  std::size_t most_;         // that may be watched at a time
  bool has_pending_ = true;  // something may have appeared that is not adopted yet
  bool has_namespaces_;
  bool is_paused_ = false;
  bool sets_paused_ = false;
  int idle_rounds_ = 0;
  int refused_ = 0;
};

/// Whether some process still maps or holds `path` open for writing. Asked of the kernel by way of
/// a read lease, which it grants only if no process does; so neither reused pids nor pid namespaces
/// matter. True where the file system cannot tell and a process with this pid exists.
[[nodiscard]] bool is_being_written(const std::string& path, pid_t pid);

}  // namespace geiger::control
