#include "analysis/profile/lives/teardown.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/profile/lives/leak_windows.h"
#include "analysis/profile/thinned.h"
#include "estimation/counts.h"

namespace geiger::profile {
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

}  // namespace

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

}  // namespace geiger::profile
