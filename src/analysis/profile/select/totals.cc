#include "analysis/profile/select/totals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/profile/select/peak.h"
#include "estimation/estimate.h"

namespace geiger::profile {

namespace {

/// What a thread allocated since its counter was armed is known only from its next
/// slow path, its end or the program's exit on.
bool is_unsettled(const Thread& thread) { return thread.armed != 0; }

void add_thread(ProcessTotals& totals, const Thread& thread) {
  if (is_unsettled(thread)) {
    ++totals.unsettled_threads;
    totals.unsettled_bound += thread.armed;
  }
  totals.exact_bytes += thread.bytes;
  totals.certain_bytes += thread.certain_bytes;
  totals.certain_count += thread.certain_count;
  totals.trials += thread.trials;
  totals.hits += thread.hits;
  totals.tail_bytes += thread.tail_bytes;
  ++totals.threads;
  if (!is_conclusive(thread)) return;
  totals.conclusive_trials += thread.trials;
  totals.conclusive_hits += thread.hits;
}

void add_estimate(ProcessTotals& totals, const Recording& recording, std::uint32_t process) {
  const estimation::NodeSums sums = allocated_sums(recording, process);
  totals.estimated_bytes = sums.all_bytes();
  totals.estimated_variance = sums.bytes_variance;
}

/// Variance of the hits, trials p q: the denominator of z, squared.
double hit_variance(const ProcessTotals& totals, Bytes interval) {
  if (interval <= 1) return 0;
  const double p = 1.0 / static_cast<double>(interval);
  return static_cast<double>(totals.conclusive_trials) * p * (1.0 - p);
}

void merge(ProcessTotals& into, const ProcessTotals& from) {
  into.exact_bytes += from.exact_bytes;
  into.certain_bytes += from.certain_bytes;
  into.certain_count += from.certain_count;
  into.trials += from.trials;
  into.hits += from.hits;
  into.tail_bytes += from.tail_bytes;
  into.conclusive_trials += from.conclusive_trials;
  into.conclusive_hits += from.conclusive_hits;
  into.threads += from.threads;
  into.unsettled_threads += from.unsettled_threads;
  into.unsettled_bound += from.unsettled_bound;
  into.estimated_bytes += from.estimated_bytes;
  into.estimated_variance += from.estimated_variance;
}

double z_of(const ProcessTotals& totals, Bytes interval) {
  if (interval == 0) return 0;
  return estimation::sampler_z(totals.conclusive_hits, totals.conclusive_trials,
                               static_cast<double>(interval));
}

bool is_wholly_recorded(const Process& process) {
  const bool is_settled = process.ending == Ending::kExited || process.ending == Ending::kStopped;
  return is_settled && process.uncommitted == 0 && !process.misses_beginning() &&
         !process.has_gap() && vocabulary::lost_samples(process.drops) == 0;
}

/// Of what was recorded all was counted, though threads may not have settled.
bool is_wholly_counted(const Process& process) {
  return !process.is_imported && process.uncommitted == 0 && !process.misses_beginning() &&
         !process.has_gap() && process.ending != Ending::kContinued;
}

/// Whether at most `bytes` were seen, and what was seen is a part of what was counted.
bool has_seen_at_most(const Recording& recording, Bytes bytes) {
  Bytes seen = 0;
  for (const Sample& sample : recording.samples) {
    if (is_allocation_seen(sample)) seen += sample.requested;
  }
  for (const Tally& tally : recording.tallies) {
    if (tally.alike.heap != kProcessHeap) continue;
    seen += count_of(tally, Kind::kAllocated) * tally.alike.requested;
  }
  return seen <= bytes;
}

}  // namespace

std::span<const Sample> samples_of(const Recording& recording, std::uint32_t process) {
  const auto& samples = recording.samples;
  return {std::ranges::lower_bound(samples, process, {}, &Sample::process),
          std::ranges::upper_bound(samples, process, {}, &Sample::process)};
}

vocabulary::Drops drops_of(const Recording& recording) {
  vocabulary::Drops drops{};
  for (const Process& process : recording.processes) {
    std::ranges::transform(drops, process.drops, drops.begin(), std::plus<>());
  }
  return drops;
}

std::uint64_t recorded_samples(const Recording& recording) {
  std::uint64_t samples = recording.samples.size();
  for (const Tally& tally : recording.tallies) {
    if (tally.alike.heap == kProcessHeap) samples += tally.allocated;
  }
  return samples;
}

double largest_interval(const Recording& recording) {
  double largest = 0;
  for (const Epoch& epoch : recording.epochs) largest = std::max(largest, 1 / epoch.lambda);
  return largest;
}

estimation::Count count_of(const Recording& recording, const Sample& sample) {
  const bool is_sure = is_surely_sampled(recording, sample);
  const double lambda = is_sure ? estimation::kCertainRate : recording.epochs[sample.epoch].lambda;
  return {sample.requested, lambda, 1};
}

estimation::NodeSums allocated_sums(const Recording& recording, std::uint32_t process) {
  estimation::NodeSums sums;
  for (const Sample& sample : samples_of(recording, process)) {
    if (is_allocation_seen(sample)) add(sums, count_of(recording, sample), 1);
  }
  for (const Tally& tally : recording.tallies) {
    const bool is_own = tally.alike.process == process && tally.alike.heap == kProcessHeap;
    if (!is_own) continue;
    add(sums, count_of(recording, tally.alike), count_of(tally, Kind::kAllocated));
  }
  return sums;
}

ProcessTotals process_totals(const Recording& recording, std::uint32_t process) {
  ProcessTotals totals;
  add_estimate(totals, recording, process);
  for (const Thread& thread : recording.threads) {
    if (thread.process != process) continue;
    add_thread(totals, thread);
  }
  totals.z = has_several_intervals(recording, process)
                 ? weighted_hits(recording, process).z()
                 : z_of(totals, recording.processes[process].interval);
  return totals;
}

std::vector<ProcessTotals> totals_of_each(const Recording& recording) {
  std::vector<ProcessTotals> each;
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    each.push_back(process_totals(recording, i));
  }
  return each;
}

ProcessTotals all_totals(const Recording& recording) {
  return all_totals(recording, totals_of_each(recording));
}

ProcessTotals all_totals(const Recording& recording, std::span<const ProcessTotals> each) {
  ProcessTotals all;
  double deviation = 0;
  double variance = 0;
  for (std::uint32_t i = 0; i < each.size(); ++i) {
    const Bytes interval = recording.processes[i].interval;
    const double own = hit_variance(each[i], interval);
    merge(all, each[i]);
    deviation += z_of(each[i], interval) * std::sqrt(own);
    variance += own;
  }
  all.z = variance > 0 ? deviation / std::sqrt(variance) : 0;
  if (has_several_intervals(recording)) {
    all.z = each.size() == 1 ? each.front().z : all_weighted_hits(recording).z();
  }
  return all;
}

std::optional<Bytes> exactly_allocated(const Recording& recording) {
  const auto known = known_allocated(recording);
  return known && known->open == 0 ? std::optional(known->bytes) : std::nullopt;
}

std::optional<estimation::KnownTotal> known_allocated(const Recording& recording) {
  const bool is_whole = recording.warnings.empty() && !recording.processes.empty() &&
                        std::ranges::all_of(recording.processes, is_wholly_recorded);
  if (!is_whole) return std::nullopt;
  // Without the estimates, which take a pass over all samples.
  ProcessTotals totals;
  for (const Thread& thread : recording.threads) add_thread(totals, thread);
  const bool is_summed = std::ranges::all_of(recording.processes, &Process::is_aggregated);
  constexpr Bytes kMostOpen = 100;  // One in so many.
  if (totals.unsettled_threads > 0 && !is_summed) return std::nullopt;
  if (totals.unsettled_bound > totals.exact_bytes / kMostOpen) return std::nullopt;
  if (!has_seen_at_most(recording, totals.exact_bytes)) return std::nullopt;
  return estimation::KnownTotal{totals.exact_bytes, totals.unsettled_bound};
}

std::optional<Bytes> most_allocated(const Recording& recording) {
  const bool is_whole = recording.warnings.empty() && !recording.threads.empty() &&
                        std::ranges::all_of(recording.processes, is_wholly_counted);
  if (!is_whole) return std::nullopt;
  ProcessTotals totals;
  for (const Thread& thread : recording.threads) add_thread(totals, thread);
  const Bytes most = totals.exact_bytes + totals.unsettled_bound;
  return has_seen_at_most(recording, most) ? std::optional(most) : std::nullopt;
}

double always_recorded_from(const Recording& recording) {
  const bool any_pure = std::ranges::any_of(recording.processes, &Process::is_pure);
  double least = any_pure ? HUGE_VAL : 0;
  for (const Epoch& epoch : recording.epochs) {
    least = std::max(least, static_cast<double>(epoch.interval));
  }
  return least;
}

Nanoseconds start_of(const Recording& recording) {
  const auto& processes = recording.processes;
  return processes.empty() ? 0 : std::ranges::min_element(processes, {}, &Process::start)->start;
}

namespace {

/// Whether a process image that did not end by itself was replaced by a later one, by exec: the
/// process's clock goes on in that.
bool is_executed_by(const Process& before, const Process& later) {
  return later.pid == before.pid && !later.is_fork_child &&
         later.processor_start >= before.processor_clock;
}

}  // namespace

Nanoseconds duration_of(const Recording& recording) {
  const Nanoseconds start = start_of(recording);
  Nanoseconds end = start;
  for (const Process& process : recording.processes) end = std::max(end, process.end);
  return end - start;
}

std::vector<ProcessorTime> processor_times(const Recording& recording) {
  std::vector<ProcessorTime> times;
  std::map<std::pair<std::uint32_t, Nanoseconds>, const Process*> by_start;
  for (const Process& process : recording.processes) {
    times.push_back(process.processor_time);
    by_start[{process.pid, process.start}] = &process;
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Process& process = recording.processes[i];
    if (!times[i].is_least || process.processor_clock == 0) continue;
    const auto next = by_start.upper_bound({process.pid, process.start});
    if (next == by_start.end() || !is_executed_by(process, *next->second)) continue;
    times[i].used += next->second->processor_start - process.processor_clock;
    times[i].is_least = false;
  }
  for (const Observations& seen : recording.observations) {
    ProcessorTime& time = times[seen.process];
    if (time.is_least) time.used = std::max(time.used, seen.worked);
  }
  return times;
}

ProcessorTime processor_time_of(const Recording& recording) {
  ProcessorTime all{.used = 0, .is_least = false};
  for (const ProcessorTime& time : processor_times(recording)) {
    all.used += time.used;
    all.is_least = all.is_least || time.is_least;
  }
  return all;
}

bool has_several_intervals(const Recording& recording, std::uint32_t process) {
  const Bytes first = recording.processes[process].interval;
  return std::ranges::any_of(recording.epochs,
                             [&](const Epoch& epoch) { return epoch.interval != first; });
}

namespace {

/// Hits by epoch: those of one are of one weight.
class HitCounts {
 public:
  explicit HitCounts(const Recording& recording)
      : recording_(recording), counts_(recording.epochs.size(), 0) {}

  void add(const Sample& sample, std::uint64_t count) {
    if (sample.is_certain || !is_allocation_seen(sample)) return;
    if (sample.thread >= recording_.threads.size()) return;
    if (is_conclusive(recording_.threads[sample.thread])) counts_[sample.epoch] += count;
  }

  void add_to(WeightedHits& hits) const {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      hits.sums.add(1, recording_.epochs[i].lambda, counts_[i]);
      hits.hits += counts_[i];
    }
  }

 private:
  const Recording& recording_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace

bool is_conclusive(const Thread& thread) {
  constexpr std::uint64_t kEnoughHits = 400;
  return thread.armed == 0 || thread.hits >= kEnoughHits;
}

void WeightedHits::merge(const WeightedHits& other) {
  sums.merge(other.sums);
  hits += other.hits;
  counted += other.counted;
  in_flight += other.in_flight;
  trials += other.trials;
}

double WeightedHits::z() const {
  if (!(sums.bytes_variance > 0)) return 0;
  const double counts = sums.all_bytes();
  return (counts - static_cast<double>(trials)) / std::sqrt(sums.bytes_variance);
}

double WeightedHits::p_value() const {
  const auto reaches = [&](double alpha) {
    const auto interval = estimation::estimate_bytes(sums, 1 - alpha).interval;
    const auto sought = static_cast<double>(trials);
    return interval.lo <= sought && sought <= interval.hi;
  };
  double low = -40;  // Powers of two.
  double high = 0;
  if (!reaches(std::pow(2.0, low))) return std::pow(2.0, low);
  constexpr int kHalvings = 30;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (reaches(std::pow(2.0, middle)) ? low : high) = middle;
  }
  return std::pow(2.0, high);
}

double WeightedHits::expected() const {
  const double counts = sums.all_bytes();
  if (!(counts > 0)) return 0;
  return static_cast<double>(hits) * static_cast<double>(trials) / counts;
}

WeightedHits weighted_hits(const Recording& recording, std::uint32_t process) {
  WeightedHits all;
  for (const Thread& thread : recording.threads) {
    if (thread.process != process || !is_conclusive(thread)) continue;
    all.counted += thread.hits;
    all.trials += thread.trials;
    all.in_flight += thread.armed != 0 ? 1 : 0;
  }
  HitCounts counts(recording);
  for (const Sample& sample : samples_of(recording, process)) counts.add(sample, 1);
  for (const Tally& tally : recording.tallies) {
    if (tally.alike.process != process || tally.alike.heap != kProcessHeap) continue;
    counts.add(tally.alike, tally.allocated);
  }
  counts.add_to(all);
  all.sums.could_have_sampled(largest_interval(recording));
  return all;
}

WeightedHits all_weighted_hits(const Recording& recording) {
  WeightedHits all;
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    all.merge(weighted_hits(recording, i));
  }
  return all;
}

bool has_several_intervals(const Recording& recording) {
  return std::ranges::any_of(recording.processes, [&](const Process& process) {
    return std::ranges::any_of(
        recording.epochs, [&](const Epoch& epoch) { return epoch.interval != process.interval; });
  });
}

}  // namespace geiger::profile
