#include "analysis/profile/lives/teardown.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/profile/recording/cut.h"
#include "analysis/profile/select/thinned.h"
#include "estimation/counts.h"
#include "estimation/distributions/probabilities.h"

namespace geiger::profile {

namespace {

constexpr std::size_t kThird = kLeakWindows / 3;
/// Of the first third's speed: what the last third keeps of it to be lasting.
constexpr double kLasting = 0.5;
constexpr double kSlowingError = 0.05;

}  // namespace

std::vector<ActiveTime> active_times(const Recording& recording,
                                     std::span<const Nanoseconds> ran_until) {
  std::vector<ActiveTime> times(recording.processes.size());
  for (const Sample& sample : recording.samples) {
    if (!is_allocation_seen(sample)) continue;
    ActiveTime& active = times[sample.process];
    active.from = active.from == 0 ? sample.time : std::min(active.from, sample.time);
    active.to = std::max(active.to, sample.time);
  }
  for (std::size_t i = 0; i < std::min(times.size(), ran_until.size()); ++i) {
    if (times[i].to != 0) times[i].to = std::max(times[i].to, ran_until[i]);
  }
  return times;
}

LeakWindows::LeakWindows(double warm_up) {
  // Lengths from 0.5 to 1.5 of the mean, by multiples of the golden section.
  std::array<double, kLeakWindows> lengths{};
  double sum = 0;
  for (std::size_t i = 0; i < kLeakWindows; ++i) {
    const double turns = 0.6180339887498949 * static_cast<double>(i + 1);
    lengths[i] = 0.5 + (turns - std::floor(turns));
    sum += lengths[i];
  }
  bounds_.front() = warm_up;
  for (std::size_t i = 0; i < kLeakWindows; ++i) {
    bounds_[i + 1] = bounds_[i] + (1 - warm_up) * lengths[i] / sum;
  }
}

double LeakWindows::place(Nanoseconds time, const ActiveTime& active) {
  if (time <= active.from) return 0;
  if (time >= active.to) return 1;
  return static_cast<double>(time - active.from) / static_cast<double>(active.to - active.from);
}

std::size_t LeakWindows::window_of(double place) const {
  const auto next = std::upper_bound(bounds_.begin() + 1, bounds_.end() - 1, place);
  return static_cast<std::size_t>(next - bounds_.begin()) - 1;
}

Nanoseconds LeakWindows::bound_of(std::size_t i, const ActiveTime& active) const {
  const auto length = static_cast<double>(active.to - active.from);
  return active.from + static_cast<Nanoseconds>(bounds_[i] * length);
}

bool is_lasting(const LeakChanges& changes) {
  double first = 0, last = 0, first_length = 0, last_length = 0;
  for (std::size_t i = 0; i < kThird; ++i) {
    first += changes[i].value;
    first_length += changes[i].length;
    last += changes[kLeakWindows - 1 - i].value;
    last_length += changes[kLeakWindows - 1 - i].length;
  }
  return first_length > 0 && last > 0 && last * first_length >= kLasting * first * last_length;
}

LeakChanges LeakWindows::with_lengths(const std::array<double, kLeakWindows>& changes) const {
  LeakChanges with;
  for (std::size_t i = 0; i < kLeakWindows; ++i) with[i] = {length_of(i), changes[i]};
  return with;
}

bool LeakWindows::is_lasting(const std::array<double, kLeakWindows>& changes) const {
  return profile::is_lasting(with_lengths(changes));
}

bool LeakWindows::is_slowing(const std::array<std::uint64_t, kLeakWindows>& arrivals) const {
  std::uint64_t first = 0, last = 0;
  double first_length = 0, last_length = 0;
  for (std::size_t i = 0; i < kThird; ++i) {
    first += arrivals[i];
    first_length += length_of(i);
    last += arrivals[kLeakWindows - 1 - i];
    last_length += length_of(kLeakWindows - 1 - i);
  }
  const double half_speed = kLasting * last_length / (first_length + kLasting * last_length);
  return estimation::binomial_below(first + last, last, half_speed) <= kSlowingError;
}

namespace {

/// Final frees outweigh allocations beside them by so much, and by more those that stay: a heap
/// that was emptied and fills up again goes on.
constexpr double kFreedToAllocated = 4, kFreedToKept = 20;
/// They free at least this share of the live heap.
constexpr double kLeastShare = 0.5;
/// They are a burst if they take no more than this share of the process's time; no longer
/// end than the second is looked at.
constexpr double kBurst = 0.05, kSlow = 0.5;
/// Frees of a burst are this dense: this many live heaps in all of the process's time. Its start is
/// where the frees become so dense, never the edge of the share that a burst may take: after that
/// edge the heap would be judged half emptied, and what leaked would look as if it had shrunk.
constexpr double kBurstDensity = 5;
/// Of the heap that slow frees began with, what may be gone before a burst is looked at.
constexpr double kMostGone = 0.1;
/// Objects younger than this share of the process's time do not count as tidied up.
constexpr double kYoung = 0.01;

/// After it began to finalize, a process that has nothing else to do allocates at most this share
/// of what it held, and ends at most this long after the last of the frees.
constexpr double kAllocatedFinalizing = 0.05;
constexpr Nanoseconds kEndsWithin = 1'000'000'000;

constexpr std::array<std::string_view, 5> kExitFunctions = {
    "exit", "__run_exit_handlers", "__cxa_finalize", "_dl_fini", "__GI_exit"};

struct Event {
  Nanoseconds time = 0;
  double bytes = 0;  ///< Weighted; negative for a free.
  const Sample* sample = nullptr;
};

bool is_free(const Event& event) { return event.bytes < 0; }

double bytes_behind(const Recording& recording, const Sample& sample) {
  const estimation::Count count = count_of_fate(recording, sample);
  return static_cast<double>(count.size) / estimation::inclusion_probability(count);
}

bool has_ended(const Process& process) {
  return process.ending == Ending::kExited || process.ending == Ending::kKilled;
}

/// Whether to judge a process, given that `only` this one is requested; kNone: all.
bool is_asked_for(std::uint32_t process, std::uint32_t only) {
  return only == kNone || process == only;
}

/// The events of each process that has ended, in order of time.
std::vector<std::vector<Event>> memory_events_of(const Recording& recording, std::uint32_t only) {
  std::vector<std::vector<Event>> events(recording.processes.size());
  for (const Sample& sample : recording.samples) {
    if (!is_asked_for(sample.process, only) || sample.is_thinned_out) continue;
    if (!has_ended(recording.processes[sample.process])) continue;
    std::vector<Event>& own = events[sample.process];
    const double weight = bytes_behind(recording, sample);
    own.push_back({std::max(sample.time, sample.seen_from), weight, &sample});
    if (sample.free_time != 0) own.push_back({sample.free_time, -weight, &sample});
  }
  for (std::vector<Event>& own : events) std::ranges::stable_sort(own, {}, &Event::time);
  return events;
}

/// Whether functions that run exit handlers are at a location.
std::vector<bool> exit_locations(const Recording& recording) {
  std::vector<bool> is_exit(recording.locations.size(), false);
  for (std::size_t i = 0; i < is_exit.size(); ++i) {
    is_exit[i] = std::ranges::any_of(recording.locations[i].frames, [&](std::uint32_t frame) {
      return std::ranges::count(kExitFunctions, recording.frames[frame].function) > 0;
    });
  }
  return is_exit;
}

/// Per process, when the first free below exit() came; 0: none is known.
std::vector<Nanoseconds> first_exit_frees(const Recording& recording, std::uint32_t only) {
  const std::vector<bool> is_exit = exit_locations(recording);
  std::vector<Nanoseconds> first(recording.processes.size(), 0);
  for (const Sample& sample : recording.samples) {
    if (!is_asked_for(sample.process, only)) continue;
    if (sample.free_time == 0 || sample.free_stack >= recording.stacks.size()) continue;
    const auto& locations = recording.stacks[sample.free_stack].locations;
    if (std::ranges::none_of(locations, [&](auto at) { return is_exit[at]; })) continue;
    Nanoseconds& known = first[sample.process];
    known = known == 0 ? sample.free_time : std::min(known, sample.free_time);
  }
  return first;
}

/// Looks backwards from the end of one process for where the final frees begin.
class FinalFrees {
 public:
  FinalFrees(const std::vector<Event>& events, const Process& process) : events_(events) {
    start_ = events.front().time;
    end_ = std::max(process.end, events.back().time);
    for (const Event& event : events) live_ += event.bytes;
  }

  /// The end of the process, no longer than kSlow, that is most of all one of frees of at least
  /// this density.
  [[nodiscard]] Teardown denser_than(double density) const {
    Teardown best{.end = end_};
    double most = 0, live = live_, freed = 0, outweighed = 0, behind = 0;
    for (std::size_t i = events_.size(); i-- > 0;) {
      const Event& event = events_[i];
      const double share = share_behind(event.time);
      if (share > kSlow) break;
      outweighed += density * live * (share - behind);
      behind = share;
      live -= event.bytes;
      if (is_free(event)) {
        if (is_old(*event.sample)) freed -= event.bytes;
      } else {
        const bool is_kept = event.sample->free_time == 0;
        outweighed += event.bytes * (is_kept ? kFreedToKept : kFreedToAllocated);
        // Not of the heap that was there before.
        if (event.sample->free_time != 0 && is_old(*event.sample)) freed -= event.bytes;
      }
      const bool is_first = i == 0 || events_[i - 1].time < event.time;
      const double score = freed - outweighed;
      if (!is_first || !is_free(event) || score <= most || freed < kLeastShare * live) continue;
      most = score;
      best = {share <= kBurst ? Teardown::Kind::kBurst : Teardown::Kind::kSlow, event.time, end_,
              live, freed};
    }
    return best;
  }

  [[nodiscard]] double live_at_end() const { return live_; }

  /// From an instant on that is known otherwise.
  [[nodiscard]] Teardown from(Nanoseconds instant) const {
    Teardown teardown{.kind = Teardown::Kind::kExitFrees, .from = instant, .end = end_};
    for (const Event& event : events_) {
      if (event.time < instant) {
        teardown.live += event.bytes;
      } else if (is_free(event) && event.sample->time < instant) {
        teardown.freed -= event.bytes;
      }
    }
    return teardown;
  }

 private:
  [[nodiscard]] double time() const { return static_cast<double>(end_ - start_); }
  [[nodiscard]] double share_behind(Nanoseconds time_of_event) const {
    return end_ > start_ ? static_cast<double>(end_ - time_of_event) / time() : 1;
  }
  [[nodiscard]] bool is_old(const Sample& sample) const {
    return static_cast<double>(sample.free_time - sample.time) >= kYoung * time();
  }

  const std::vector<Event>& events_;
  Nanoseconds start_ = 0, end_ = 0;
  double live_ = 0;
};

Teardown teardown_of(const std::vector<Event>& events, const Process& process,
                     Nanoseconds exit_free) {
  if (events.empty()) return {.from = process.end, .end = process.end};
  const FinalFrees ending(events, process);
  if (process.finalizing_from != 0) {
    return {.kind = Teardown::Kind::kFinalization,
            .from = process.finalizing_from,
            .end = process.end,
            .live = ending.live_at_end()};
  }
  const Teardown all = ending.denser_than(0);
  Teardown dense = ending.denser_than(kBurstDensity);
  // The last part of slow frees looks like a burst: it has to hold most of what they began with.
  if (dense.live < (1 - kMostGone) * all.live) dense = {};
  const bool is_burst = dense.kind == Teardown::Kind::kBurst;
  if (exit_free != 0 && (!is_burst || exit_free < dense.from)) return ending.from(exit_free);
  if (is_burst) return dense;
  Teardown slow = all;
  if (slow.kind == Teardown::Kind::kNotFound) {
    slow.from = slow.end;
    slow.live = ending.live_at_end();
  } else {
    slow.kind = Teardown::Kind::kSlow;
  }
  return slow;
}

/// What a process held when its interpreter began to finalize, and what it did from then on.
struct Finalization {
  Nanoseconds from = 0, last_free = 0;
  double live = 0, allocated = 0;

  void add(const Sample& sample, double bytes) {
    if (sample.time >= from) {
      allocated += bytes;
    } else if (sample.free_time == 0 || sample.free_time >= from) {
      live += bytes;
      last_free = std::max(last_free, sample.free_time);
    }
  }
  [[nodiscard]] bool ends(const Process& process) const {
    return from != 0 && has_ended(process) && allocated <= kAllocatedFinalizing * live &&
           process.end <= std::max(from, last_free) + kEndsWithin;
  }
};

}  // namespace

void end_at_finalization(Recording& recording) {
  std::vector<Finalization> seen(recording.processes.size());
  for (const Interpreter& interpreter : recording.interpreters) {
    seen[interpreter.process].from = interpreter.finalizing_from;
  }
  if (std::ranges::none_of(seen, [](const Finalization& one) { return one.from != 0; })) return;
  for (const Sample& sample : recording.samples) {
    Finalization& process = seen[sample.process];
    if (process.from != 0 && !sample.is_thinned_out)
      process.add(sample, bytes_behind(recording, sample));
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    Process& process = recording.processes[i];
    if (seen[i].ends(process)) process.finalizing_from = seen[i].from;
  }
  for (std::vector<Sample>* samples : {&recording.samples, &recording.heap_samples}) {
    for (Sample& sample : *samples) {
      const Process& process = recording.processes[sample.process];
      if (process.is_finalizing(sample.time)) sample.is_thinned_out = true;
      if (process.is_finalizing(sample.free_time)) forget_free(sample);
    }
  }
}

std::vector<Teardown> find_teardowns(const Recording& recording, std::uint32_t only) {
  const auto events = memory_events_of(recording, only);
  const std::vector<Nanoseconds> exit_frees = first_exit_frees(recording, only);
  std::vector<Teardown> teardowns;
  for (std::size_t i = 0; i < events.size(); ++i) {
    teardowns.push_back(teardown_of(events[i], recording.processes[i], exit_frees[i]));
  }
  return teardowns;
}

const Teardown* largest_of(const std::vector<Teardown>& teardowns) {
  const auto largest = std::ranges::max_element(teardowns, {}, &Teardown::live);
  return largest == teardowns.end() ? nullptr : &*largest;
}

std::vector<Nanoseconds> judged_before(std::span<const Teardown> teardowns) {
  std::vector<Nanoseconds> until;
  for (const Teardown& teardown : teardowns) {
    until.push_back(teardown.is_found() ? teardown.from : kItsEnd);
  }
  return until;
}

std::vector<Nanoseconds> ran_until(const Recording& recording,
                                   std::span<const Nanoseconds> judged) {
  std::vector<Nanoseconds> ran(judged.size(), 0);
  const std::vector<ActiveTime> active = active_times(recording, {});
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const Process& process = recording.processes[i];
    const Nanoseconds until = std::min(judged[i], process.end);
    const bool is_mostly_quiet = 2 * active[i].to < process.start + until;
    if (until < process.end || is_mostly_quiet) ran[i] = until;
  }
  return ran;
}

}  // namespace geiger::profile
