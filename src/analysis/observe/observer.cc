#include "analysis/observe/observer.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"

namespace geiger::observe {
namespace {

/// What all readings of all processes may take. A snapshot that would go beyond it, at the cost of
/// the latest one, waits until time has passed. The counters alone are read on, which costs little
/// (ProcessObserver).
struct Budget {
  double share;        ///< Of the time.
  Nanoseconds credit;  ///< To begin with.

  [[nodiscard]] Nanoseconds allowed(Nanoseconds elapsed) const {
    return credit + static_cast<Nanoseconds>(static_cast<double>(elapsed) * share);
  }
};
constexpr Budget kBudget{0.005, 1'000'000};
/// Asking for the allocator's waste costs a walk through its heaps at each snapshot. The walks of
/// recordings that began late may take as much again.
constexpr Budget kBudgetOfWaste{0.01, 50'000'000};
/// Snapshots of leaps, which are few, may take this much, with all others.
constexpr Budget kBudgetOfLeaps{0.05, 20'000'000};
constexpr Nanoseconds kLeastWait = 5'000'000;
constexpr Nanoseconds kLongestWait = 1'000'000'000;

}  // namespace

Observer::Observer(bool wants_waste) : wants_waste_(wants_waste) {
  const auto status = ProcessFiles(::getpid()).status();
  own_high_water_ = status ? status->high_water : 0;
}

template <class Is>
void Observer::finish_if(const Is& is_over) {
  std::erase_if(observed_, [&](auto& each) {
    if (!is_over(each)) return false;
    found_[each.first] = each.second->take();
    return true;
  });
}

void Observer::follow(const std::vector<Writing>& traces) {
  if (started_ == 0) started_ = base::monotonic_now();
  finish_if([&](const auto& each) {
    return std::ranges::find(traces, each.first, &Writing::path) == traces.end();
  });
  for (const Writing& trace : traces) {
    if (!observed_.contains(trace.path)) begin(trace);
  }
}

void Observer::begin(const Writing& trace) {
  observed_[trace.path] = std::make_unique<ProcessObserver>(trace.pid, trace.path, wants_waste_);
  std::string& newest = newest_[{trace.pid, trace.image_start}];
  if (!newest.empty()) before_[trace.path] = newest;
  newest = trace.path;
}

Allowance Observer::allowance(Nanoseconds now) const {
  const auto can_afford = [&](const Budget& budget) {
    return cost_ + latest_ <= budget.allowed(now - started_);
  };
  if (can_afford(wants_waste_ ? kBudgetOfWaste : kBudget)) return Allowance::kAll;
  return can_afford(kBudgetOfLeaps) ? Allowance::kFirstAndLeaps : Allowance::kNone;
}

bool Observer::can_afford_walk(Nanoseconds now) const {
  return cost_of_walks_ + latest_walk_ <= kBudgetOfWaste.allowed(now - started_);
}

Nanoseconds Observer::round() {
  Nanoseconds wait = kLongestWait;
  for (auto& [path, process] : observed_) {
    const Nanoseconds now = base::monotonic_now();
    if (now >= process->next()) {
      const Nanoseconds before = process->cost();
      const bool has_snapshot = process->observe(now, allowance(now));
      const Nanoseconds spent = process->cost() - before;
      cost_ += spent;
      if (has_snapshot) latest_ = spent;
    }
    if (can_afford_walk(now)) {
      const Nanoseconds spent = process->walk_if_due(now);
      cost_of_walks_ += spent;
      if (spent > 0) latest_walk_ = spent;
    }
    const Nanoseconds after = base::monotonic_now();
    wait = std::min(wait, std::max(kLeastWait, std::max(process->next(), after) - after));
  }
  return wait;
}

void Observer::take_maximum(Bytes maximum) {
  if (maximum <= own_high_water_) return;
  finish_if([](const auto& each) { return each.second->has_ended(); });
  const auto largest =
      std::ranges::max_element(found_, {}, [](const auto& each) { return each.second.high_water; });
  if (largest == found_.end()) return;
  largest->second.high_water = std::max(largest->second.high_water, maximum);
}

std::vector<std::string> Observer::take_questions() {
  std::vector<std::string> traces;
  for (const auto& [path, process] : observed_) {
    if (process->take_question()) traces.push_back(path);
  }
  return traces;
}

std::optional<profile::Observations> Observer::take(const std::string& path) {
  follow({});
  auto found = found_.extract(path);
  if (found.empty()) return std::nullopt;
  profile::Observations all = counters_before(path);
  profile::append(all, std::move(found.mapped()));
  return all;
}

/// Snapshots name samples, which went with their file.
profile::Observations Observer::counters_before(const std::string& path) {
  profile::Observations counters;
  const auto before = before_.find(path);
  if (before == before_.end() || access(before->second.c_str(), F_OK) == 0) return counters;
  counters = counters_before(before->second);
  auto found = found_.extract(before->second);
  if (found.empty()) return counters;
  profile::Observations& deleted = found.mapped();
  deleted.last.reset();
  deleted.at_maximum.reset();
  deleted.fault.clear();
  deleted.types = {};
  profile::append(counters, std::move(deleted));
  return counters;
}

profile::Observations observe_now(pid_t pid, const std::string& trace, bool wants_waste) {
  ProcessObserver process(pid, trace, wants_waste);
  process.observe_at_once(base::monotonic_now());
  return process.take();
}

}  // namespace geiger::observe
