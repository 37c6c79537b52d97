#include "analysis/profile/select/selfcheck.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/totals.h"
#include "estimation/distributions/gamma.h"
#include "estimation/distributions/probabilities.h"
#include "estimation/sums.h"

namespace geiger::profile {

namespace {

using estimation::OffsetCheck;

constexpr double kOneInAMillion = -6;  // As a power of ten.

/// Uniform on [0, 1), the same in every reading. The salt keeps it apart from the
/// bits that split the samples for the peak.
double randomness(std::uint64_t seed, std::uint64_t place) {
  constexpr std::uint64_t kSalt = 0x6f66667365747321;
  return static_cast<double>(spread(spread(kSalt, seed), place) >> 11) * 0x1p-53;
}

void add_offsets(OffsetCheck& check, const Recording& recording, std::uint32_t process) {
  const std::uint64_t seed = recording.processes[process].seed;
  std::uint64_t place = 0;
  for (const Sample& sample : samples_of(recording, process)) {
    const double v = randomness(seed, place++);
    if (is_surely_sampled(recording, sample) || sample.requested == 0) continue;
    check.add(sample.requested, sample.offset, recording.epochs[sample.epoch].lambda, v);
  }
}

/// A thread's first draws: what independent threads have in common only by chance.
struct Draw {
  Bytes size = 0;
  std::uint64_t offset = 0;
  std::uint32_t epoch = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the 0 of a comparison for a pointer.
  auto operator<=>(const Draw&) const = default;
};
struct DrawnThread {
  std::uint32_t process = 0;
  std::vector<Draw> draws;
};
constexpr std::size_t kMostDraws = 32;

std::vector<DrawnThread> drawn_threads(const Recording& recording) {
  std::vector<DrawnThread> threads(recording.threads.size());
  for (const Sample& sample : recording.samples) {
    if (sample.thread >= threads.size() || is_surely_sampled(recording, sample)) continue;
    // Not one of the first that were drawn, or not drawn by itself.
    if (!is_allocation_seen(sample) || sample.requested == 0) continue;
    DrawnThread& thread = threads[sample.thread];
    thread.process = sample.process;
    if (thread.draws.size() == kMostDraws) continue;
    thread.draws.push_back({sample.requested, sample.offset, sample.epoch});
  }
  std::erase_if(threads, [](const DrawnThread& thread) { return thread.draws.empty(); });
  std::ranges::stable_sort(threads, {}, &DrawnThread::draws);
  return threads;
}

/// Walks the tree of common beginnings of the sorted threads.
class CommonBeginnings {
 public:
  CommonBeginnings(const Recording& recording, std::span<const DrawnThread> threads)
      : recording_(recording), threads_(threads) {}

  /// The least probable groups among those that share their first `depth` draws;
  /// `log10_each` is the chance of these draws for one further thread.
  [[nodiscard]] std::vector<SharedDraws> groups_in(std::size_t first, std::size_t last,
                                                   std::size_t depth, double log10_each) const {
    std::vector<SharedDraws> groups = longer_groups(first, last, depth, log10_each);
    const auto own = depth == 0 ? std::nullopt : group_of(first, last, depth, log10_each);
    if (!own) return groups;
    const bool has_better = std::ranges::any_of(
        groups, [&](const SharedDraws& group) { return group.log10_p < own->log10_p; });
    return has_better ? groups : std::vector{*own};
  }

 private:
  [[nodiscard]] std::vector<SharedDraws> longer_groups(std::size_t first, std::size_t last,
                                                       std::size_t depth, double log10_each) const {
    std::vector<SharedDraws> groups;
    // Threads with no further draw sort before the others.
    while (first < last && threads_[first].draws.size() <= depth) ++first;
    while (first < last) {
      const Draw& draw = threads_[first].draws[depth];
      std::size_t end = first + 1;
      while (end < last && threads_[end].draws[depth] == draw) ++end;
      if (end - first > 1) {
        auto longer = groups_in(first, end, depth + 1, log10_each + log10_of(draw));
        groups.insert(groups.end(), longer.begin(), longer.end());
      }
      first = end;
    }
    return groups;
  }

  /// An upper bound of the chance that a further thread has this offset too, given
  /// the size: that of offset 0, the likeliest.
  [[nodiscard]] double log10_of(const Draw& draw) const {
    const double lambda = recording_.epochs[draw.epoch].lambda;
    const double first = estimation::inclusion_probability(1, lambda);
    const double any = estimation::inclusion_probability(draw.size, lambda);
    return any > 0 ? std::min(0.0, std::log10(first / any)) : 0;
  }

  [[nodiscard]] std::optional<SharedDraws> group_of(std::size_t first, std::size_t last,
                                                    std::size_t depth, double log10_each) const {
    const auto all = static_cast<double>(threads_.size());
    const auto alike = static_cast<double>(last - first);
    // Union bound over which threads, how many, and how many draws.
    const double log10_p = (alike - 1) * log10_each + estimation::log10_choose(all, alike) +
                           std::log10(all) + std::log10(kMostDraws);
    if (log10_p > kOneInAMillion) return std::nullopt;
    SharedDraws group;
    group.threads = last - first;
    group.samples = depth;
    group.log10_p = log10_p;
    for (const DrawnThread& thread : threads_.subspan(first, last - first)) {
      group.processes.push_back(thread.process);
    }
    std::ranges::sort(group.processes);
    group.processes.erase(std::unique(group.processes.begin(), group.processes.end()),
                          group.processes.end());
    return group;
  }

  const Recording& recording_;
  std::span<const DrawnThread> threads_;
};

double expected_hits(const Recording& recording, std::uint32_t process,
                     const ProcessTotals& totals) {
  const Bytes interval = recording.processes[process].interval;
  if (interval <= 1) return 0;
  return static_cast<double>(totals.conclusive_trials) / static_cast<double>(interval);
}

/// From 400 expected hits on the number is normal; there z also knows that hits
/// of a small interval are less spread than a Poisson number.
double p_value_of(const HitCheck& check) {
  constexpr double kMany = 400;
  if (check.expected >= kMany) return 2 * estimation::normal_below(-std::abs(check.z));
  return estimation::test_count(check.hits, check.expected).p_value;
}

/// Hits of several intervals.
HitCheck check_of(const WeightedHits& hits) {
  HitCheck check{.hits = hits.hits, .expected = hits.expected(), .z = hits.z()};
  check.is_testable = hits.is_whole();
  if (check.is_testable) check.p_value = hits.p_value();
  return check;
}

}  // namespace

HitCheck check_hits(const Recording& recording, std::uint32_t process) {
  if (has_several_intervals(recording, process)) {
    return check_of(weighted_hits(recording, process));
  }
  const ProcessTotals totals = process_totals(recording, process);
  HitCheck check{.hits = totals.conclusive_hits,
                 .expected = expected_hits(recording, process, totals),
                 .z = totals.z};
  check.p_value = p_value_of(check);
  return check;
}

HitCheck check_hits(const Recording& recording) {
  if (has_several_intervals(recording)) return check_of(all_weighted_hits(recording));
  HitCheck all;
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    const HitCheck one = check_hits(recording, i);
    if (!(one.expected > 0)) continue;
    all.hits += one.hits;
    all.expected += one.expected;
  }
  all.z = all_totals(recording).z;
  all.p_value = p_value_of(all);
  return all;
}

bool has_every_hit(const Recording& recording) {
  return !has_several_intervals(recording) || all_weighted_hits(recording).is_whole();
}

estimation::OffsetReport check_offsets(const Recording& recording) {
  OffsetCheck check;
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) add_offsets(check, recording, i);
  return check.report();
}

estimation::OffsetReport check_offsets(const Recording& recording, std::uint32_t process) {
  OffsetCheck check;
  add_offsets(check, recording, process);
  return check.report();
}

std::uint64_t Accounting::missing() const {
  const std::uint64_t explained = found + dropped + in_flight + between;
  return counted > explained ? counted - explained : 0;
}

namespace {

/// Threads of which a sample may be counted in one segment and written in the next, and one of the
/// two segments is missing.
std::uint64_t threads_between(const Recording& recording, std::uint32_t process) {
  if (!recording.processes[process].misses_segments()) return 0;
  return static_cast<std::uint64_t>(
      std::ranges::count(recording.threads, process, &Thread::process));
}

/// The bytes that one such sample of each thread stands for, at most: an object of s bytes with the
/// weight s / (1 - (1 - 1/T)^s) <= s + T.
Bytes bytes_between(const Recording& recording, std::uint32_t process) {
  const std::uint64_t threads = threads_between(recording, process);
  if (threads == 0) return 0;
  Bytes largest = 0;
  for (const Sample& sample : samples_of(recording, process)) {
    largest = std::max(largest, sample.requested);
  }
  return threads * (largest + static_cast<Bytes>(largest_interval(recording)));
}

}  // namespace

Accounting account(const Recording& recording, std::uint32_t process) {
  Accounting accounting;
  const auto is_counted = [](const Sample& sample) {
    return is_allocation_seen(sample) && sample.requested > 0;
  };
  accounting.found =
      static_cast<std::uint64_t>(std::ranges::count_if(samples_of(recording, process), is_counted));
  for (const Tally& tally : recording.tallies) {
    const bool is_own = tally.alike.process == process && tally.alike.heap == kProcessHeap &&
                        tally.alike.requested > 0;
    if (is_own) accounting.found += tally.allocated;
  }
  accounting.dropped =
      count_of(recording.processes[process].drops, vocabulary::DropCause::kTraceFull);
  for (const Thread& thread : recording.threads) {
    if (thread.process != process) continue;
    accounting.counted += thread.hits + thread.certain_count;
    accounting.in_flight += thread.armed != 0 ? 1 : 0;
  }
  accounting.between = threads_between(recording, process);
  return accounting;
}

bool Agreement::has_failed() const {
  return estimate.interval.lo > static_cast<double>(most) ||
         estimate.interval.hi < static_cast<double>(least);
}

Agreement compare_with_exact(const Recording& recording, std::uint32_t process,
                             const ProcessTotals& totals) {
  estimation::NodeSums sums = allocated_sums(recording, process);
  sums.could_have_sampled(largest_interval(recording));
  const Bytes between = bytes_between(recording, process);
  return {estimation::estimate_bytes(sums, 1 - Agreement::kFalseAlarm),
          totals.exact_bytes - std::min(totals.exact_bytes, between),
          totals.exact_bytes + totals.unsettled_bound + between};
}

std::vector<SharedDraws> shared_draws(const Recording& recording) {
  const std::vector<DrawnThread> threads = drawn_threads(recording);
  return CommonBeginnings(recording, threads).groups_in(0, threads.size(), 0, 0);
}

}  // namespace geiger::profile
