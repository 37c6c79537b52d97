#include "control/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

#include "analysis/observe/proc_text.h"
#include "analysis/observe/process_files.h"
#include "base/numbers.h"
#include "base/parts.h"
#include "query/sizes.h"

namespace geiger::control {
namespace {

using ConditionResult = base::Outcome<Condition>;

constexpr Nanoseconds kShortestTimer = 10'000'000;
/// cgroup v1 expresses "no limit" as a number near 2^63.
constexpr Bytes kNoLimit = Bytes{1} << 60;

std::string without_blanks(std::string_view text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept),
               [](char c) { return c != ' ' && c != '\t'; });
  return kept;
}

std::optional<double> number_of(std::string_view text) {
  const auto value = base::number_in<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

ConditionResult with_size(Condition condition, std::string_view text) {
  const auto size = GEIGER_TRY(query::parse_size(text));
  if (size == 0) return base::Failure{fmt::format("'{}': 0 bytes", condition.text)};
  condition.bytes = size;
  return condition;
}

ConditionResult with_share(Condition condition, std::string_view text) {
  const auto share =
      text.ends_with('%') ? number_of(text.substr(0, text.size() - 1)) : std::nullopt;
  if (!share || !(*share > 0) || *share > 100) {
    return base::Failure{fmt::format("'{}': not a share between 0% and 100%", condition.text)};
  }
  condition.share = *share / 100;
  return condition;
}

ConditionResult with_period(Condition condition, std::string_view text) {
  const auto period = GEIGER_TRY(query::parse_duration(text));
  if (period < kShortestTimer) {
    return base::Failure{fmt::format("'{}': shorter than 10 ms", condition.text)};
  }
  condition.period = period;
  return condition;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<Bytes> bytes_in(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  Bytes value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || value >= kNoLimit) return std::nullopt;  // "max"
  return value;
}

/// The path after "N:CONTROLLER:" in the text of /proc/PID/cgroup.
std::optional<std::string> cgroup_path(std::string_view text, std::string_view controller) {
  while (!text.empty()) {
    const std::string_view line = base::take_part(text);
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    if (names == controller) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

struct CgroupFiles {
  std::string root, used, limit;
};

/// The largest share of a limit among the cgroup and its ancestors.
std::optional<double> share_in(const CgroupFiles& files, std::string path) {
  std::optional<double> largest;
  while (true) {
    const auto used = bytes_in(files.root + path + files.used);
    const auto limit = bytes_in(files.root + path + files.limit);
    if (used && limit && *limit > 0) {
      const double share = static_cast<double>(*used) / static_cast<double>(*limit);
      largest = std::max(share, largest.value_or(0));
    }
    if (path.size() <= 1) return largest;
    path.resize(path.rfind('/'));
  }
}

std::optional<double> cgroup_share(std::string_view cgroups) {
  if (const auto path = cgroup_path(cgroups, "memory")) {
    return share_in({"/sys/fs/cgroup/memory", "/memory.usage_in_bytes", "/memory.limit_in_bytes"},
                    *path);
  }
  const auto path = cgroup_path(cgroups, "");
  if (!path) return std::nullopt;
  return share_in({"/sys/fs/cgroup", "/memory.current", "/memory.max"}, *path);
}

std::optional<double> pressure_of(std::string_view cgroups) {
  const auto path = cgroup_path(cgroups, "");
  auto text = path ? read_file("/sys/fs/cgroup" + *path + "/memory.pressure") : std::nullopt;
  if (!text) text = read_file("/proc/pressure/memory");
  return text ? parse_pressure(*text) : std::nullopt;
}

}  // namespace

base::Outcome<Condition> parse_condition(std::string_view given) {
  const std::string text = without_blanks(given);
  const std::string_view view = text;
  const auto made = [&](Condition::Kind kind) {
    return Condition{.kind = kind, .bytes = 0, .share = 0, .period = 0, .text = text};
  };
  if (view.starts_with("rss>")) return with_size(made(Condition::Kind::kRss), view.substr(4));
  if (view.starts_with("rss+=")) return with_size(made(Condition::Kind::kGrowth), view.substr(5));
  if (view.starts_with("cgroup>"))
    return with_share(made(Condition::Kind::kCgroup), view.substr(7));
  if (view.starts_with("psi>")) return with_share(made(Condition::Kind::kPressure), view.substr(4));
  if (view.starts_with("every=")) return with_period(made(Condition::Kind::kTimer), view.substr(6));
  return base::Failure{fmt::format(
      "invalid condition '{}' (examples: rss>2GiB, rss+=256MiB, cgroup>80%, psi>10%, every=10m)",
      given)};
}

bool Trigger::passes(double value, double threshold) {
  constexpr double kRearm = 0.95;
  if (is_past_) {
    is_past_ = value > kRearm * threshold;
    return false;
  }
  return is_past_ = value > threshold;
}

bool Trigger::has_grown(Bytes resident) {
  if (!grown_from_) grown_from_ = resident;
  if (resident < *grown_from_ + condition_.bytes) return false;
  grown_from_ = resident;
  return true;
}

bool Trigger::is_time(Nanoseconds now) {
  if (now < since_ + condition_.period) return false;
  since_ += (now - since_) / condition_.period * condition_.period;
  return true;
}

bool Trigger::fires(const MemoryReadings& readings) {
  switch (condition_.kind) {
    case Condition::Kind::kRss:
      return passes(static_cast<double>(readings.resident), static_cast<double>(condition_.bytes));
    case Condition::Kind::kGrowth:
      return has_grown(readings.resident);
    case Condition::Kind::kCgroup:
      return readings.cgroup_share && passes(*readings.cgroup_share, condition_.share);
    case Condition::Kind::kPressure:
      return readings.pressure && passes(*readings.pressure, condition_.share);
    case Condition::Kind::kTimer:
      return is_time(readings.now);
  }
  return false;
}

std::optional<double> parse_pressure(std::string_view text) {
  constexpr std::string_view kField = "some avg10=";
  if (!text.starts_with(kField)) return std::nullopt;
  text.remove_prefix(kField.size());
  const auto value = number_of(text.substr(0, text.find_first_of(" \n")));
  if (!value || *value < 0 || *value > 100) return std::nullopt;
  return *value / 100;
}

MemoryReadings read_memory(pid_t pid, Nanoseconds now) {
  MemoryReadings readings{.now = now, .resident = 0, .cgroup_share = {}, .pressure = {}};
  const observe::ProcessFiles files(pid);
  const auto text = files.read("status");
  const auto status = text ? observe::parse_status(*text) : std::nullopt;
  if (status) readings.resident = status->counts.resident;
  const std::string cgroups = files.read("cgroup").value_or("");
  readings.cgroup_share = cgroup_share(cgroups);
  readings.pressure = pressure_of(cgroups);
  return readings;
}

}  // namespace geiger::control
