#include "analysis/profile/weighted_hits.h"

#include <algorithm>
#include <cmath>

#include "analysis/profile/peak.h"
#include "analysis/profile/totals.h"
#include "estimation/estimate.h"

namespace geiger::profile {
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
