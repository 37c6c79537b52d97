#include "control/run_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "analysis/observe/proc_files.h"
#include "base/clock.h"
#include "base/text.h"
#include "control/control_page.h"
#include "query/words.h"

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
  if (view == "peak") return made(Condition::Kind::kPeak);
  return base::Failure{fmt::format(
      "invalid condition '{}' (examples: rss>2GiB, rss+=256MiB, cgroup>80%, psi>10%, every=10m, "
      "peak)",
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

bool Trigger::is_peak(Bytes resident) {
  if (resident <= largest_ + largest_ / 4) return false;
  largest_ = resident;
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
    case Condition::Kind::kPeak:
      return is_peak(readings.resident);
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

namespace {

/// The whole text as a positive finite number.
std::optional<double> positive(std::string_view text) {
  const auto value = base::number_in<double>(text);
  return value && std::isfinite(*value) && *value > 0 ? value : std::nullopt;
}

// A sampled malloc and its free take 1,531 instructions, a third of them in the walk
// (docs/internals/life.md), at one instruction per nanosecond: caches are cold in the slow path.
// A new stack is hashed, written and entered into a table.
constexpr Nanoseconds kSampleCost = 1200;
constexpr Nanoseconds kFreeCost = 400;
constexpr Nanoseconds kStackCost = 1500;
constexpr Nanoseconds kMappingCost = 1200;

}  // namespace

base::Outcome<Budget> parse_overhead(std::string_view text) {
  const auto fail = [&](std::string_view why) {
    return base::Failure{fmt::format("'{}' {}", text, why)};
  };
  std::string_view rest = text;
  if (rest.ends_with("/s")) {
    rest.remove_suffix(2);
    const auto rate = positive(rest);
    if (!rate) return fail("is not a rate above 0 (example: 2000/s)");
    return Budget{.samples_per_second = *rate};
  }
  if (!rest.ends_with('%')) return fail("is not a share or a rate (examples: 0.5%, 2000/s)");
  rest.remove_suffix(1);
  if (rest.ends_with(' ')) rest.remove_suffix(1);
  const auto share = positive(rest);
  if (!share || *share >= 100) return fail("is not between 0% and 100%");
  return Budget{.share = *share / 100};
}

Nanoseconds cost_of(const RecordCounts& records) {
  return records.samples * kSampleCost + records.frees * kFreeCost + records.stacks * kStackCost +
         records.mappings * kMappingCost;
}

Bytes IntervalGovernor::account(Nanoseconds elapsed, double spent, double allowed,
                                std::uint64_t samples) {
  elapsed_ += elapsed;
  spent_ += spent;
  allowed_ += allowed;
  samples_ += samples;
  const bool is_overdrawn =
      elapsed_ >= kLeastPeriod && samples_ >= kLeastSamples && spent_ > 2 * allowed_;
  if (elapsed_ >= kPeriod || is_overdrawn) end_period();
  return interval_;
}

void IntervalGovernor::end_period() {
  const double limit = debt_ > 0 ? allowed_ / 2 : allowed_;
  // A program that used no processor time had no allowance, and can have spent little.
  const double load = limit > 0 ? spent_ / limit : (samples_ >= kLeastSamples ? 2 : 0);
  calm_ = load < 0.25 ? calm_ + 1 : 0;
  if (load > 1) {
    const double doublings = std::min(std::ceil(std::log2(load)), 40.0);
    const double wanted = std::ldexp(static_cast<double>(interval_), static_cast<int>(doublings));
    interval_ = static_cast<Bytes>(std::min(wanted, static_cast<double>(trace::kMostInterval)));
  } else if (calm_ >= kCalmPeriods && interval_ > least_) {
    interval_ = std::max(interval_ / 2, least_);
    calm_ = 0;
  }
  const double second = allowed_ * (static_cast<double>(kPeriod) /
                                    static_cast<double>(std::max<Nanoseconds>(elapsed_, 1)));
  debt_ = std::clamp(debt_ + spent_ - allowed_, 0.0, kMemory * second);
  elapsed_ = 0;
  spent_ = allowed_ = 0;
  samples_ = 0;
}

WatchedImage::WatchedImage(const WatchOptions& options, pid_t pid, Nanoseconds now)
    : options_(options), pid_(pid), governor_(options.interval), last_look_(now) {
  for (const auto& condition : options.mark_on) marks_.emplace_back(condition, now);
  for (const auto& condition : options.snapshot_on) snapshots_on_.emplace_back(condition, now);
  for (const auto& condition : options.holders_on) holders_on_.emplace_back(condition, now);
}

void WatchedImage::write_to(std::unique_ptr<LiveTrace> trace) {
  tally_.reset();
  // Whether this is the segment after the one that was asked to end. A new recording begins with
  // segment 0.
  is_own_ =
      trace_ && under_way_ && under_way_->path == trace_->path() && trace->header().segment != 0;
  trace_ = std::move(trace);
  tally_ = std::make_unique<TraceTally>(trace_->fd());
  accounted_ = {};
  if (options_.budget) {
    trace_->control().requested_interval.store(governor_.interval(), std::memory_order_release);
    allow_until_next_check(0);
  }
}

/// Limits the cost of a burst before the next look: `allowed_per_second` is what the process was
/// allowed since the last one.
void WatchedImage::allow_until_next_check(double allowed_per_second) {
  constexpr double kRoundsAhead = 4;
  constexpr double kSampleBytes = 96;  // With its free and its share of a stack.
  constexpr Bytes kLeastStep = 16 * kKiB;
  const Budget& budget = *options_.budget;
  const double seconds = kRoundsAhead * std::chrono::duration<double>(RunWatch::kRound).count();
  const auto cost = static_cast<double>(cost_of({.samples = 1, .frees = 1}));
  const double samples = budget.share > 0
                             ? std::max(allowed_per_second, budget.share * 1'000'000'000) / cost
                             : budget.samples_per_second;
  const auto step = std::max(kLeastStep, static_cast<Bytes>(samples * seconds * kSampleBytes));
  trace::ControlPage& control = trace_->control();
  control.doubles_at.store(trace_->size() + step, std::memory_order_relaxed);
  control.doubling_step.store(step, std::memory_order_release);
}

void WatchedImage::look(Nanoseconds now) {
  if (!trace_) return;
  if (options_.budget) govern(now);
  drop_the_least();  // First: the next snapshot may be due as soon as this one is complete.
  pull_triggers(now);
  scan_at_exit();
  last_look_ = now;
}

void WatchedImage::scan_at_exit() {
  if (trace_->header().waits_at_exit.load(std::memory_order_acquire) == 0) return;
  if (!options_.have_last_holders(pid_, trace_->path())) return;
  trace_->control().was_scanned.store(1, std::memory_order_release);
}

std::optional<Nanoseconds> WatchedImage::processor_time() const {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) != 0) return {};
  if (clock_gettime(clock, &time) != 0) return {};
  return static_cast<Nanoseconds>(time.tv_sec) * 1'000'000'000 +
         static_cast<Nanoseconds>(time.tv_nsec);
}

void WatchedImage::govern(Nanoseconds now) {
  tally_->update(now);
  const RecordCounts& counts = tally_->counts();
  const std::uint64_t samples = counts.samples - accounted_.samples;
  const Nanoseconds elapsed = now - last_look_;
  double spent = static_cast<double>(samples);
  double allowed =
      options_.budget->samples_per_second * static_cast<double>(elapsed) / 1'000'000'000;
  if (options_.budget->share > 0) {
    const auto time = processor_time();
    const auto before = std::exchange(last_processor_time_, time);
    if (!time) return;
    spent = static_cast<double>(cost_of(counts) - cost_of(accounted_));
    allowed = options_.budget->share * static_cast<double>(*time - before.value_or(0));
  }
  const Bytes before = governor_.interval();
  // In a burst, the runtime itself doubled it.
  if (counts.epochs != accounted_.epochs) governor_.raise_to(counts.interval);
  accounted_ = counts;
  const Bytes wanted = governor_.account(elapsed, spent, allowed, samples);
  if (wanted != before) {
    trace_->control().requested_interval.store(wanted, std::memory_order_release);
  }
  const double seconds = static_cast<double>(std::max<Nanoseconds>(elapsed, 1)) / 1'000'000'000;
  allow_until_next_check(allowed / seconds);
}

void WatchedImage::pull_triggers(Nanoseconds now) {
  if (marks_.empty() && snapshots_on_.empty() && holders_on_.empty()) return;
  const MemoryReadings readings = read_memory(pid_, now);
  if (readings.resident == 0) return;  // It has ended, or is ending.
  for (Trigger& trigger : marks_) {
    if (!trigger.fires(readings)) continue;
    static_cast<void>(trace_->write_mark(now, trigger.condition().text));
  }
  bool is_due = false;
  for (Trigger& trigger : snapshots_on_) {
    if (!trigger.fires(readings)) continue;
    is_due = true;
    static_cast<void>(trace_->write_mark(now, trigger.condition().text));
  }
  if (is_due && !under_way_) snap(readings);
  for (Trigger& trigger : holders_on_) {
    if (trigger.fires(readings)) options_.find_holders(pid_, trace_->path());
  }
}

void WatchedImage::snap(const MemoryReadings& readings) {
  under_way_ = Snapshot{trace_->path(), readings.resident, is_own_};
  trace_->control().wanted_segment.fetch_add(1, std::memory_order_release);
}

/// A segment is complete once the process writes another. The current one always stays, and so does
/// one that no snapshot began: a user who started the recording, or asked for a segment, expects it
/// and its marks to be there.
void WatchedImage::drop_the_least() {
  if (!under_way_ || trace_->path() == under_way_->path) return;
  const Snapshot ended = *std::exchange(under_way_, std::nullopt);
  if (!ended.is_own) return;
  taken_.push_back(ended);
  if (options_.keep == 0 || taken_.size() <= options_.keep) return;
  const auto least = std::min_element(
      taken_.begin(), taken_.end(),
      [](const auto& one, const auto& other) { return one.resident < other.resident; });
  options_.remove(least->path);
  taken_.erase(least);
}

void RunWatch::follow(const std::vector<observe::Writing>& traces) {
  for (const auto& writing : traces) {
    if (known_.contains(writing.path)) continue;
    follow(writing, LiveTrace::open(options_.open(writing.path), writing.path));
  }
}

void RunWatch::follow(const observe::Writing& writing, base::Outcome<LiveTrace> trace) {
  if (!trace.has_value() || !known_.insert(writing.path).second) return;
  drop_images_before(writing);
  auto& image = images_[{writing.pid, writing.image_start}];
  if (!image) image = std::make_unique<WatchedImage>(options_, writing.pid, base::monotonic_now());
  image->write_to(std::make_unique<LiveTrace>(std::move(trace.value())));
}

/// After exec a process no longer writes to its earlier image; following both would set every mark
/// twice.
void RunWatch::drop_images_before(const observe::Writing& writing) {
  if (writing.pid == 0) return;  // Unknown: others may have 0 too.
  std::erase_if(images_, [&](const auto& entry) {
    return entry.first.pid == writing.pid && entry.first.image_start < writing.image_start;
  });
}

std::chrono::nanoseconds RunWatch::round() {
  const Nanoseconds now = base::monotonic_now();
  if (now >= next_) {
    next_ = now + static_cast<Nanoseconds>(std::chrono::nanoseconds(kRound).count());
    for (auto& [key, image] : images_) image->look(now);
    // An ended segment may be about to be followed by the next.
    std::erase_if(images_, [&](const auto& entry) {
      return entry.second->has_ended() && kill(entry.first.pid, 0) != 0;
    });
  }
  return std::chrono::nanoseconds(next_ - now);
}

}  // namespace geiger::control
