// Observes all processes of a run. It has no thread of its own: it works when it is called.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/observe/process_observer.h"
#include "analysis/profile/memory/observations.h"

namespace geiger::observe {

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

  /// A child of ours has been reaped, and `maximum` is the largest RSS of it and of the processes
  /// that it waited for (ru_maxrss). It counts for the largest process that has ended: a maximum
  /// after the last reading is not missed. Ignored where a copy of our own memory, which a child
  /// is before it calls exec, may have been as large.
  void take_maximum(Bytes maximum);

  /// The traces of the processes to query now, by ControlPage::wanted_residency, as
  /// their pages may not be read; forgets them.
  [[nodiscard]] std::vector<std::string> take_questions();

  /// The observations of a trace, if any, which it then forgets. With the counters of its earlier
  /// segments that have been deleted since.
  [[nodiscard]] std::optional<profile::Observations> take(const std::string& path);

 private:
  [[nodiscard]] Allowance allowance(Nanoseconds now) const;
  [[nodiscard]] bool can_afford_walk(Nanoseconds now) const;
  void begin(const Writing& trace);
  template <class Is>
  void finish_if(const Is& is_over);
  [[nodiscard]] profile::Observations counters_before(const std::string& path);

  bool wants_waste_;
  Bytes own_high_water_;  ///< Of geiger itself, when it began.
  Nanoseconds started_ = 0;
  Nanoseconds cost_ = 0;
  Nanoseconds latest_ = 0;  ///< Of it, the latest snapshot's.
  Nanoseconds cost_of_walks_ = 0, latest_walk_ = 0;
  std::map<std::string, std::unique_ptr<ProcessObserver>> observed_;
  std::map<std::string, profile::Observations> found_;
  std::map<std::pair<pid_t, Nanoseconds>, std::string> newest_;  ///< Segment of an image.
  std::map<std::string, std::string> before_;                    ///< Of a segment.
};

/// Observes a process once, right now, while it writes `trace`.
[[nodiscard]] profile::Observations observe_now(pid_t pid, const std::string& trace,
                                                bool wants_waste);

}  // namespace geiger::observe
