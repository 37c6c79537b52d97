// What the supervisor does to traces while they are written, besides allocating storage: it sets
// marks and takes snapshots at conditions, and keeps the interval to a budget.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "analysis/observe/observer.h"
#include "base/outcome.h"
#include "base/units.h"
#include "control/control_page.h"
#include "trace/share.h"

namespace geiger::control {

// Conditions on the memory of a process that trigger a mark or a snapshot: --mark-on,
// --snapshot-on, --holders.
//
//   rss>2GiB       resident memory exceeds a size
//   rss+=256MiB    it has grown by this much since the last time
//   cgroup>80%     its memory cgroup exceeds this share of its limit
//   psi>10%        some task waited for memory for this share of the last ten seconds
//   every=10m      the time has passed
//   peak           resident memory is a quarter larger than when it fired before

struct Condition {
  enum class Kind : std::uint8_t { kRss, kGrowth, kCgroup, kPressure, kTimer, kPeak };
  Kind kind = Kind::kRss;
  Bytes bytes = 0;         ///< kRss, kGrowth.
  double share = 0;        ///< kCgroup, kPressure: in (0, 1].
  Nanoseconds period = 0;  ///< kTimer: 10 ms at least.
  std::string text;        ///< As given, without blanks.
};

/// A failure's reason quotes the text.
[[nodiscard]] base::Outcome<Condition> parse_condition(std::string_view text);

/// Memory readings of a process and its cgroup at one instant.
struct MemoryReadings {
  Nanoseconds now = 0;
  Bytes resident = 0;
  std::optional<double> cgroup_share = {};  ///< Nothing: no limit.
  std::optional<double> pressure = {};      ///< Nothing: not available from the kernel.
};

/// A condition watched for one process. A threshold fires once, and again only after the value fell
/// a twentieth below it, so that noise around the threshold does not fire each time.
class Trigger {
 public:
  Trigger(Condition condition, Nanoseconds now) : condition_(std::move(condition)), since_(now) {}

  [[nodiscard]] bool fires(const MemoryReadings& readings);
  [[nodiscard]] const Condition& condition() const { return condition_; }

 private:
  [[nodiscard]] bool passes(double value, double threshold);
  [[nodiscard]] bool has_grown(Bytes resident);
  [[nodiscard]] bool is_time(Nanoseconds now);
  [[nodiscard]] bool is_peak(Bytes resident);

  Condition condition_;
  bool is_past_ = false;
  std::optional<Bytes> grown_from_;
  Bytes largest_ = 0;  ///< When it fired.
  Nanoseconds since_;
};

/// "some avg10" in the text of /proc/pressure/memory or memory.pressure, as a share.
[[nodiscard]] std::optional<double> parse_pressure(std::string_view text);

/// Reads the memory of a process and of its cgroup, if it has one of its own.
[[nodiscard]] MemoryReadings read_memory(pid_t pid, Nanoseconds now);

// `--budget`: how much a recording may cost, and the interval that keeps to it.
//
// Proof that estimates stay unbiased: docs/internals/estimators.md, "An interval that follows a
// budget".

/// What recording one process may cost; one of the two is not 0.
struct Budget {
  double share = 0;               ///< Share of its processor time, in (0, 1).
  double samples_per_second = 0;  ///< In wall-clock time.
};

/// "0.5%" or "2000/s".
[[nodiscard]] base::Outcome<Budget> parse_overhead(std::string_view text);

/// Processor time that the records of a trace cost its process: nominal figures, on the high side,
/// for samples, their frees, new stacks, and mappings.
[[nodiscard]] Nanoseconds cost_of(const RecordCounts& records);

/// Chooses the sampling interval of one process from the cost so far and nothing else: not from the
/// samples to come, nor from the objects that exist.
///
///   a period ends      after a second, or as soon as twice what it allows is spent
///   over the limit     the interval doubles as often as would have kept to it
///   under a quarter    of the limit in kCalmPeriods in a row: the interval halves
///   in debt            (more was spent than allowed since the start, within the last
///                      kMemory) the limit is half of what is allowed
///
/// Threads: one.
class IntervalGovernor {
 public:
  static constexpr Nanoseconds kPeriod = 1'000'000'000;
  /// A period is not cut shorter than this, nor for fewer samples than these.
  static constexpr Nanoseconds kLeastPeriod = 50'000'000;
  static constexpr std::uint64_t kLeastSamples = 8;
  static constexpr int kCalmPeriods = 3;
  /// The largest debt, in allowances of periods: a larger one is cut to this.
  static constexpr double kMemory = 60;

  /// `least`: the smallest interval, used if the budget allows it.
  explicit IntervalGovernor(Bytes least) : least_(least), interval_(least) {}

  /// Accounts for the cost spent and allowed since the last call, both in one unit, and the
  /// `samples` since then. Returns the interval to sample with from now on.
  Bytes account(Nanoseconds elapsed, double spent, double allowed, std::uint64_t samples);

  /// The interval was raised to this elsewhere; a smaller one changes nothing.
  void raise_to(Bytes interval) {
    interval_ = std::clamp(interval, interval_, trace::kMostInterval);
  }

  [[nodiscard]] Bytes interval() const { return interval_; }

 private:
  void end_period();

  Bytes least_;
  Bytes interval_;
  Nanoseconds elapsed_ = 0;
  double spent_ = 0;
  double allowed_ = 0;
  double debt_ = 0;
  std::uint64_t samples_ = 0;
  int calm_ = 0;
};

struct WatchOptions {
  std::vector<Condition> mark_on;
  std::vector<Condition> snapshot_on;
  std::vector<Condition> holders_on;
  bool holders_at_end = false;   ///< Before a recording is ended by geiger.
  bool holders_at_exit = false;  ///< Of each process, which waits for it.
  std::size_t keep = 0;  ///< Snapshots per process; 0: all. Kept are those of the largest RSS,
                         ///< and all segments that no snapshot began.
  std::optional<Budget> budget;
  Bytes interval = 512 * kKiB;  ///< If the budget allows it.

  /// Opens a trace that a process writes, by its path.
  std::function<base::UniqueFd(const std::string&)> open = [](const std::string& path) {
    return open_to_control(path);
  };
  /// Deletes a trace that is not kept, by its path.
  std::function<void(const std::string&)> remove = [](const std::string& path) {
    std::error_code error;
    std::filesystem::remove(path, error);
  };

  /// Looks for what holds the memory of a process that writes this trace; now, or soon.
  std::function<void(pid_t, const std::string&)> find_holders = [](pid_t, const std::string&) {};
  /// The same for a process that waits for it. Asked again and again; true: it is done.
  std::function<bool(pid_t, const std::string&)> have_last_holders = [](pid_t, const std::string&) {
    return true;
  };

  [[nodiscard]] bool is_empty() const {
    return mark_on.empty() && snapshot_on.empty() && holders_on.empty() && !holders_at_end &&
           !holders_at_exit && !budget;
  }
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
  void scan_at_exit();
  void snap(const MemoryReadings& readings);
  void drop_the_least();
  [[nodiscard]] std::optional<Nanoseconds> processor_time() const;

  const WatchOptions& options_;
  pid_t pid_;
  std::vector<Trigger> marks_;
  std::vector<Trigger> snapshots_on_;
  std::vector<Trigger> holders_on_;
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
