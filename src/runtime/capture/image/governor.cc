#include "runtime/capture/image/governor.h"

#include <algorithm>
#include <bit>

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

}  // namespace geiger::capture
