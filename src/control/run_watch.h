// What the supervisor does to traces while they are written, besides allocating storage: it sets
// marks and takes snapshots at conditions, and keeps the interval to a budget.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "analysis/observe/observer.h"
#include "control/conditions.h"
#include "control/control_page.h"
#include "control/overhead.h"
#include "control/trace_tally.h"

namespace geiger::control {

struct WatchOptions {
  std::vector<Condition> mark_on;
  std::vector<Condition> snapshot_on;
  std::size_t keep = 0;  ///< Snapshots per process; 0: all. Kept are those of the largest RSS,
                         ///< and all segments that no snapshot began.
  std::optional<Budget> budget;
  Bytes interval = 512 * kKiB;  ///< If the budget allows it.

  /// Deletes a trace that is not kept, by its path.
  std::function<void(const std::string&)> remove = [](const std::string& path) {
    std::error_code error;
    std::filesystem::remove(path, error);
  };

  [[nodiscard]] bool is_empty() const { return mark_on.empty() && snapshot_on.empty() && !budget; }
};

/// One process image, across its segments. Threads: one.
class WatchedImage {
 public:
  WatchedImage(const WatchOptions& options, pid_t pid, Nanoseconds now);

  /// The trace that it writes from now on.
  void write_to(std::unique_ptr<LiveTrace> trace);
  void look(Nanoseconds now);
  [[nodiscard]] bool has_ended() const { return !trace_ || !trace_->is_open(); }

 private:
  struct Snapshot {
    std::string path;
    Bytes resident = 0;
    bool is_own = false;  ///< A snapshot began it, so it may be deleted.
  };

  void govern(Nanoseconds now);
  void allow_until_next_check(double allowed_per_second);
  void pull_triggers(Nanoseconds now);
  void snap(const MemoryReadings& readings);
  void drop_the_least();
  [[nodiscard]] std::optional<Nanoseconds> processor_time() const;

  const WatchOptions& options_;
  pid_t pid_;
  std::vector<Trigger> marks_;
  std::vector<Trigger> snapshots_on_;
  std::unique_ptr<LiveTrace> trace_;
  bool is_own_ = false;  ///< A snapshot began the trace, not the user or the runtime.
  std::unique_ptr<TraceTally> tally_;
  RecordCounts accounted_;
  IntervalGovernor governor_;
  Nanoseconds last_look_;
  std::optional<Nanoseconds> last_processor_time_;
  std::vector<Snapshot> taken_;
  std::optional<Snapshot> under_way_;  ///< The segment that was asked to end.
};

/// All traces of a run.
class RunWatch {
 public:
  /// How often processes are looked at.
  static constexpr std::chrono::milliseconds kRound{100};

  explicit RunWatch(WatchOptions options) : options_(std::move(options)) {}
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  /// The traces that are written now, in a directory of ours.
  void follow(const std::vector<observe::Writing>& traces);
  /// A trace that is written now; nothing is done if it is followed already.
  void follow(const observe::Writing& writing, base::Outcome<LiveTrace> trace);
  /// Looks at every process if it is time. Returns how long the next round may wait.
  [[nodiscard]] std::chrono::nanoseconds round();

 private:
  struct Key {
    pid_t pid;
    Nanoseconds image_start;
    auto operator<=>(const Key&) const = default;
  };

  void drop_images_before(const observe::Writing& writing);

  WatchOptions options_;
  std::map<Key, std::unique_ptr<WatchedImage>> images_;
  std::set<std::string> known_;
  Nanoseconds next_ = 0;
};

}  // namespace geiger::control
