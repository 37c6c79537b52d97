// Observes one process: its memory over time, and at chosen instants where its live
// samples lie.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "analysis/observe/chunk_walks.h"
#include "analysis/observe/live_set.h"
#include "analysis/observe/process_files.h"
#include "analysis/observe/seen_types.h"
#include "analysis/observe/series.h"
#include "analysis/profile/memory/observations.h"

namespace geiger::observe {

/// When snapshots are due, if they can be afforded.
struct SnapshotPace {
  /// Rest between two, at most; in a young process a quarter of its age.
  Nanoseconds rest = 500'000'000;
  Nanoseconds least_rest = 10'000'000;
  /// Without a new maximum one is taken all the same, so that the last is recent; in a
  /// young process after half its age.
  Nanoseconds idle_rest = 1'000'000'000;
  /// A maximum is new when it exceeds the last one caught by this share.
  double growth = 0.05;
  /// One that exceeds it by this share is caught without rest: short and bursty programs may never
  /// be as large again. There are log(largest/first)/log(1.25) of them at most.
  double leap = 0.25;
};

/// The snapshots that may be taken.
enum class Allowance : std::uint8_t { kNone, kFirstAndLeaps, kAll };

class ProcessObserver {
 public:
  /// `trace` is the file that process `pid` writes.
  ProcessObserver(pid_t pid, const std::string& trace, bool wants_waste);

  /// One reading of the counters, and a snapshot if one is due and may be taken. Nothing
  /// is due before next() again. Whether it took one.
  bool observe(Nanoseconds now, Allowance allowance);
  /// A walk through its chunks in use, if it has objects from before the recording and one is due.
  /// Returns the processor time it took.
  Nanoseconds walk_if_due(Nanoseconds now);
  /// A snapshot whether or not one is due.
  void observe_at_once(Nanoseconds now);
  [[nodiscard]] Nanoseconds next() const { return next_; }
  /// Whether to query the process itself now for how much of its live samples is in memory:
  /// a snapshot was due, and its pages may not be read from outside. True once each time. False
  /// of a process with system call filters that we do not have: one might end it for the answer.
  [[nodiscard]] bool take_question() { return std::exchange(asks_, false); }
  [[nodiscard]] bool has_ended() const { return !files_.status(); }
  /// Processor time spent so far.
  [[nodiscard]] Nanoseconds cost() const { return found_.cost; }

  /// The observations. Samples are named by the references of their records.
  [[nodiscard]] profile::Observations take();

 private:
  [[nodiscard]] bool writes_trace(const std::string& maps) const;
  [[nodiscard]] bool read_counts(Nanoseconds now);
  [[nodiscard]] bool has_grown(double share) const;
  [[nodiscard]] bool has_leapt(Nanoseconds now) const;
  [[nodiscard]] bool is_snapshot_due(Nanoseconds now) const;
  void take_snapshot(Nanoseconds now);
  void ask_if_due(Nanoseconds now);
  [[nodiscard]] bool is_confined_further() const;
  [[nodiscard]] std::optional<profile::Snapshot> snapshot(Nanoseconds now);
  void keep(profile::Snapshot snapshot);

  ProcessFiles files_;
  std::string trace_name_;
  bool wants_waste_;
  TraceFollower follower_;
  Series series_;
  SeenTypes types_;
  ChunkWalks walks_;
  profile::Observations found_;
  profile::MemoryCounts counts_;  ///< As last read.
  Nanoseconds started_ = 0;
  Nanoseconds next_ = 0;
  Nanoseconds last_end_ = 0;  ///< When the last snapshot was done.
  bool is_refused_ = false;   ///< The last snapshot's pages could not be read.
  bool asks_ = false;
  Nanoseconds next_question_ = 0;
};

}  // namespace geiger::observe
