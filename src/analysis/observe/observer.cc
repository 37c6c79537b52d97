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
};
constexpr Budget kBudget{0.005, 1'000'000};
/// Asking for the allocator's waste costs a walk through its heaps at each snapshot.
constexpr Budget kBudgetOfWaste{0.01, 50'000'000};
constexpr Nanoseconds kLeastWait = 5'000'000;
constexpr Nanoseconds kLongestWait = 1'000'000'000;

}  // namespace

void Observer::follow(const std::vector<Writing>& traces) {
  if (started_ == 0) started_ = base::monotonic_now();
  for (auto at = observed_.begin(); at != observed_.end();) {
    if (std::ranges::find(traces, at->first, &Writing::path) != traces.end()) {
      ++at;
      continue;
    }
    found_[at->first] = at->second->take();
    at = observed_.erase(at);
  }
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

bool Observer::can_afford(Nanoseconds now) const {
  const Budget& budget = wants_waste_ ? kBudgetOfWaste : kBudget;
  const auto earned = static_cast<Nanoseconds>(static_cast<double>(now - started_) * budget.share);
  return cost_ + latest_ <= budget.credit + earned;
}

Nanoseconds Observer::round() {
  Nanoseconds wait = kLongestWait;
  for (auto& [path, process] : observed_) {
    const Nanoseconds now = base::monotonic_now();
    if (now >= process->next()) {
      const Nanoseconds before = process->cost();
      const bool has_snapshot = process->observe(now, can_afford(now));
      const Nanoseconds spent = process->cost() - before;
      cost_ += spent;
      if (has_snapshot) latest_ = spent;
    }
    const Nanoseconds after = base::monotonic_now();
    wait = std::min(wait, std::max(kLeastWait, std::max(process->next(), after) - after));
  }
  return wait;
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
