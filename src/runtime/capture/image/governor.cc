#include "runtime/capture/image/governor.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/clock.h"
#include "base/raw_syscall.h"
#include "runtime/capture/image/image.h"
#include "runtime/capture/sample/sample.h"
#include "trace/share.h"

namespace geiger::capture {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

Bytes least_interval(Nanoseconds spent) {
  const Nanoseconds times = std::max<Nanoseconds>(spent / Governor::kFineFor, 1);
  return std::min(Governor::kFinest * std::bit_floor(times), Governor::kCoarsest);
}

double share_of(std::uint64_t per_million) {
  return static_cast<double>(per_million) / static_cast<double>(trace::kPerMillion);
}

}  // namespace

void Governor::start(std::uint64_t share_per_million) {
  spent_.store(0, kRelaxed);
  due_at_spent_.store(kStretch, kRelaxed);
  due_at_time_.store(0, kRelaxed);
  balanced_spent_.store(0, kRelaxed);
  balanced_used_.store(0, kRelaxed);
  for (std::atomic<double>* sum : {&saved_, &young_credit_, &demand_, &demanded_for_})
    sum->store(0, kRelaxed);
  share_.store(share_per_million, kRelaxed);
}

bool Governor::is_due(Nanoseconds now, std::uint32_t threads) {
  const Nanoseconds at_time = due_at_time_.load(kRelaxed);
  if (at_time == 0) {
    due_at_time_.store(now + kPeriod, kRelaxed);
    return false;
  }
  const Nanoseconds spent = spent_.load(kRelaxed);
  Nanoseconds at_spent = due_at_spent_.load(kRelaxed);
  if (spent < at_spent && now < at_time) return false;
  const Nanoseconds next = spent + kStretch + std::min(threads, kMostThreads) * kStretchPerThread;
  if (!due_at_spent_.compare_exchange_strong(at_spent, next, kRelaxed)) return false;
  due_at_time_.store(now + kPeriod, kRelaxed);
  return true;
}

/// The new savings.
double Governor::save(double spent, double passed) {
  const double allowed = passed * share_of(share_.load(kRelaxed));
  const double given = young_credit_.load(kRelaxed);
  const double credit = std::min(allowed * kYoungTimes, kYoungCredit - given);
  young_credit_.store(given + credit, kRelaxed);
  const double saved = std::min(saved_.load(kRelaxed) + allowed + credit - spent, kMostSaved);
  saved_.store(saved, kRelaxed);
  return saved;
}

Bytes Governor::coarsest() const {
  const std::uint64_t share = std::max<std::uint64_t>(share_.load(kRelaxed), 1);
  return kCoarsest * std::bit_ceil(std::max<std::uint64_t>(trace::kUsualShare / share, 1));
}

/// The interval that would have cost exactly the share: cost is inversely proportional to it.
double Governor::needed_interval(double spent, double passed, Bytes interval) {
  const double rest = kMemory / (kMemory + passed);
  const double demand = (demand_.load(kRelaxed) + spent * static_cast<double>(interval)) * rest;
  const double demanded_for = (demanded_for_.load(kRelaxed) + passed) * rest;
  demand_.store(demand, kRelaxed);
  demanded_for_.store(demanded_for, kRelaxed);
  return demand / std::max(demanded_for * share_of(share_.load(kRelaxed)), 1.0);
}

Bytes Governor::balance(Bytes interval, Nanoseconds used) {
  const Nanoseconds total = spent_.load(kRelaxed);
  const auto spent = static_cast<double>(total - balanced_spent_.exchange(total, kRelaxed));
  const Nanoseconds before = balanced_used_.exchange(used, kRelaxed);
  const auto passed = static_cast<double>(used - std::min(used, before));
  const double saved = save(spent, passed);
  const double needed = needed_interval(spent, passed, interval);
  const Bytes most = std::min(interval * kMostRaise, coarsest());
  if (saved < 0) {
    while (interval < most && static_cast<double>(interval) < needed) interval *= 2;
  }
  const double enough = saved < 0 ? 4 * needed : 2 * needed;
  if (static_cast<double>(interval) >= enough) interval /= 2;
  return std::max(interval, least_interval(total));
}

// The interval in force, and who changes it: the control page, the program, and the governor, which
// meets the process's clock here.

namespace {

/// Handles bursts between two checks of the supervisor that keeps the budget: after each step of
/// the trace's growth, the interval doubles. The next interval depends on the past only, so
/// estimates stay unbiased.
GEIGER_SLOW_PATH void double_interval(Segment& segment, std::uint64_t step) {
  std::uint64_t before = image.intervals.doubled_at.load(std::memory_order_relaxed);
  const std::uint64_t tail = segment.writer.tail();
  const std::uint64_t allowed =
      segment.writer.control()->doubles_at.load(std::memory_order_relaxed);
  if (tail < std::max(allowed, before + step)) return;
  if (!image.intervals.doubled_at.compare_exchange_strong(before, tail, std::memory_order_relaxed))
    return;
  const std::uint64_t interval = segment.epoch.interval.load(std::memory_order_relaxed);
  set_interval(std::min(interval * 2, kMostInterval));
}

}  // namespace

void follow_control(Segment& segment) {
  const std::uint64_t step =
      segment.writer.control()->doubling_step.load(std::memory_order_relaxed);
  if (step != 0) [[unlikely]]
    double_interval(segment, step);
  const std::uint64_t wanted =
      segment.writer.control()->requested_interval.load(std::memory_order_relaxed);
  std::uint64_t followed = image.intervals.followed.load(std::memory_order_relaxed);
  // Adopt a request only once: the program may have changed the interval since.
  if (wanted == followed || wanted == 0 || wanted > kMostInterval) return;
  if (image.intervals.followed.compare_exchange_strong(followed, wanted,
                                                       std::memory_order_relaxed)) {
    image.intervals.governor.stop();
    set_interval(wanted);
  }
}

bool set_interval(std::uint64_t interval) {
  if (interval == 0 || interval > kMostInterval || !is_recording()) return false;
  Segment& segment = current_segment();
  std::uint64_t current = segment.epoch.interval.load(std::memory_order_relaxed);
  if (interval == current) return true;
  // One thread writes the epoch; the others adopt it at their next slow path.
  const bool is_first =
      segment.epoch.interval.compare_exchange_strong(current, interval, std::memory_order_acq_rel);
  if (is_first && !write_epoch(segment, interval)) return false;
  if (is_first) pass_interval_on();
  return true;
}

void set_own_interval(std::uint64_t interval) {
  image.intervals.own.store(interval, std::memory_order_relaxed);
}

GEIGER_SLOW_PATH void regulate_interval(Nanoseconds begun) {
  const Nanoseconds now = base::monotonic_now();
  image.intervals.governor.spend_on_sample(now - begun);
  if (!image.intervals.governor.is_due(now, image.threads.load(std::memory_order_relaxed))) return;
  const std::uint64_t current = current_segment().epoch.interval.load(std::memory_order_relaxed);
  // In a process that confined itself: the time, at least as much for a single thread.
  const Nanoseconds used = base::processor_time();
  set_interval(image.intervals.governor.balance(current, used != 0 ? used : now));
}

}  // namespace geiger::capture
