// Conditions on the memory of a process that trigger a mark or a snapshot: --mark-on,
// --snapshot-on.
//
//   rss>2GiB       resident memory exceeds a size
//   rss+=256MiB    it has grown by this much since the last time
//   cgroup>80%     its memory cgroup exceeds this share of its limit
//   psi>10%        some task waited for memory for this share of the last ten seconds
//   every=10m      the time has passed
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/outcome.h"
#include "base/units.h"

namespace geiger::control {

struct Condition {
  enum class Kind : std::uint8_t { kRss, kGrowth, kCgroup, kPressure, kTimer };
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

  Condition condition_;
  bool is_past_ = false;
  std::optional<Bytes> grown_from_;
  Nanoseconds since_;
};

/// "some avg10" in the text of /proc/pressure/memory or memory.pressure, as a share.
[[nodiscard]] std::optional<double> parse_pressure(std::string_view text);

/// Reads the memory of a process and of its cgroup, if it has one of its own.
[[nodiscard]] MemoryReadings read_memory(pid_t pid, Nanoseconds now);

}  // namespace geiger::control
