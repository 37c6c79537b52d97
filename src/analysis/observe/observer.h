// Observes all processes of a run: the memory of each over time, and at chosen instants where its
// live samples lie.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/observe/heap_walks.h"
#include "analysis/observe/live_set.h"
#include "analysis/observe/proc_files.h"
#include "analysis/observe/seen_types.h"
#include "analysis/profile/recording/observations.h"

namespace geiger::observe {

// A series of memory readings over time, in bounded space.

/// Readings, each kept until there are too many; then neighbours are merged two by two
/// and the step doubles. So a series of any length keeps between half of the limit and
/// the limit, evenly spread, and neither its largest nor its smallest reading is lost.
class Series {
 public:
  static constexpr std::size_t kMostPoints = 4096;
  static constexpr Nanoseconds kFirstStep = 100'000'000;

  /// `time` does not fall. A reading within the step of the last point merges with it.
  void add(Nanoseconds time, const profile::MemoryCounts& counts);

  /// How far points lie apart: reading more often adds nothing but extremes.
  [[nodiscard]] Nanoseconds step() const { return step_; }
  [[nodiscard]] const std::vector<profile::SeriesPoint>& points() const { return points_; }

 private:
  void thin();

  std::vector<profile::SeriesPoint> points_;
  Nanoseconds step_ = kFirstStep;
  Nanoseconds opened_ = 0;  ///< Time of the first reading of the last point.
};

// Observes one process: its memory over time, and at chosen instants where its live
// samples lie.

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
enum class Allowance : std::uint8_t {
  kNone,
  kFirstAndLeaps,
  kRare,  ///< And so many that the last one is at most a fifth of the observation old.
  kAll,
};

/// What a process has kept so far of what it allocated since its recording began.
struct KeptSoFar {
  double bytes = 0;         ///< The upper limit of their 90 % interval.
  Bytes interval = 0;       ///< In force.
  Bytes before = 0;         ///< Resident and swapped when the recording began.
  bool is_counted = false;  ///< Its chunks in use can be counted from outside.
};

class ProcessObserver {
 public:
  /// `trace` is the file that process `pid` writes. `is_known`: the process wrote an earlier
  /// segment of it, and may write a later one by now.
  ProcessObserver(pid_t pid, const std::string& trace, bool wants_waste, bool is_known = false);

  /// One reading of the counters, and a snapshot if one is due and may be taken. Nothing
  /// is due before next() again: readings take this share of the time at most. Whether it took one.
  bool observe(Nanoseconds now, Allowance allowance, double share);
  /// A walk through its chunks in use, if it has objects from before the recording and one is due.
  /// Returns the processor time it took.
  Nanoseconds walk_if_due(Nanoseconds now);
  /// Nothing: no interval is known yet, or it cannot be observed.
  [[nodiscard]] std::optional<KeptSoFar> kept_so_far();
  /// A snapshot whether or not one is due.
  void observe_at_once(Nanoseconds now);
  [[nodiscard]] Nanoseconds next() const { return next_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Nothing can be read of it.
  [[nodiscard]] bool is_faulty() const { return !found_.fault.empty(); }
  /// Whether to query the process itself now for how much of its live samples is in memory:
  /// a snapshot was due, and its pages may not be read from outside. True once each time. False
  /// of a process with system call filters that we do not have: one might end it for the answer.
  [[nodiscard]] bool take_question() { return std::exchange(asks_, false); }
  [[nodiscard]] bool has_ended() const { return !files_.status(); }
  /// Processor time spent so far.
  [[nodiscard]] Nanoseconds cost() const { return found_.cost; }
  /// Processor time that the process took while it was observed, when last read.
  [[nodiscard]] Nanoseconds processor_time() const { return processor_time_; }

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

  void read_processor_time();

  pid_t pid_;
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
  std::optional<Nanoseconds> first_processor_time_;
  Nanoseconds processor_time_ = 0;
  Nanoseconds last_end_ = 0;  ///< When the last snapshot was done.
  bool is_refused_ = false;   ///< The last snapshot's pages could not be read.
  bool asks_ = false;
  Nanoseconds next_question_ = 0;
};

// Observes all processes of a run. It has no thread of its own: it works when it is called.

/// A trace that a process writes.
struct Writing {
  std::string path;
  pid_t pid = 0;
  Nanoseconds image_start = 0;  ///< Start of the process image; equal in all its segments.
};

class Observer {
 public:
  /// `wants_waste`: also walk allocators' heaps (--fragmentation).
  explicit Observer(bool wants_waste);

  /// The traces being written now: new ones are observed from here on, others no more.
  void follow(const std::vector<Writing>& traces);
  /// Makes the readings that are due. Returns how long the next round may wait.
  [[nodiscard]] Nanoseconds round();

  /// Of the process that writes this trace.
  [[nodiscard]] std::optional<KeptSoFar> kept_so_far(const std::string& path);

  /// A child of ours has been reaped, and `maximum` is the largest RSS of it and of the processes
  /// that it waited for (ru_maxrss). It counts for the largest process that has ended: a maximum
  /// after the last reading is not missed. Ignored where a copy of our own memory, which a child
  /// is before it calls exec, may have been as large.
  void take_maximum(Bytes maximum);

  /// The traces of the processes to query now, by ControlPage::wanted_residency, as
  /// their pages may not be read; forgets them.
  [[nodiscard]] std::vector<std::string> take_questions();

  /// The processes of which snapshots were taken since the last call, and those that turned out
  /// to be unreadable.
  [[nodiscard]] std::vector<Writing> take_snapshots() { return std::exchange(snapshots_, {}); }

  /// The observations of a trace, if any, which it then forgets. With the counters of its earlier
  /// segments that have been deleted since.
  [[nodiscard]] std::optional<profile::Observations> take(const std::string& path);

 private:
  [[nodiscard]] double share(Nanoseconds now) const;
  [[nodiscard]] Allowance allowance(Nanoseconds now) const;
  [[nodiscard]] bool can_afford_walk(Nanoseconds now) const;
  void begin(const Writing& trace);
  template <class Is>
  void finish_if(const Is& is_over);
  void add_unseen(const std::string& path);
  [[nodiscard]] profile::Observations counters_before(const std::string& path);

  bool wants_waste_;
  Bytes own_high_water_;  ///< Of geiger itself, when it began.
  Nanoseconds started_ = 0;
  Nanoseconds cost_ = 0;
  Nanoseconds latest_ = 0;          ///< Of it, the latest snapshot's.
  Nanoseconds processor_time_ = 0;  ///< Of all processes, while they were observed.
  double allowed_ = 0;              ///< Of readings, in ns, until:
  Nanoseconds allowed_until_ = 0;
  Nanoseconds cost_of_walks_ = 0, latest_walk_ = 0;
  std::map<std::string, std::unique_ptr<ProcessObserver>> observed_;
  std::vector<Writing> snapshots_;
  std::map<std::string, profile::Observations> found_;
  std::map<std::pair<pid_t, Nanoseconds>, std::string> newest_;  ///< Segment of an image.
  std::map<std::string, std::string> before_;                    ///< Of a segment.
};

/// Observes a process once, right now, while it writes `trace`.
[[nodiscard]] profile::Observations observe_now(pid_t pid, const std::string& trace,
                                                bool wants_waste);

}  // namespace geiger::observe
