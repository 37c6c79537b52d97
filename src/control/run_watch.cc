#include "control/run_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/clock.h"
#include "control/control_page.h"

namespace geiger::control {

WatchedImage::WatchedImage(const WatchOptions& options, pid_t pid, Nanoseconds now)
    : options_(options), pid_(pid), governor_(options.interval), last_look_(now) {
  for (const auto& condition : options.mark_on) marks_.emplace_back(condition, now);
  for (const auto& condition : options.snapshot_on) snapshots_on_.emplace_back(condition, now);
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
  last_look_ = now;
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
  if (marks_.empty() && snapshots_on_.empty()) return;
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
    follow(writing, LiveTrace::open(open_to_control(writing.path), writing.path));
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
