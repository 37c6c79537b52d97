#include "analysis/profile/lives/late_growth.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/thinned.h"
#include "estimation/counts.h"
#include "estimation/difference.h"
#include "estimation/distributions/gamma.h"
#include "estimation/planning.h"
#include "estimation/scatter.h"
#include "vocabulary/vocabulary.h"

namespace geiger::profile {
namespace {

using estimation::Change;

/// A reading within this time after the start of the recording counts as one at the start.
constexpr Nanoseconds kAtStart = 1'000'000'000;
/// Size of glibc's chunks less the usable bytes: other sizes than multiples of kChunkStep are not
/// chunks of a heap, but have mappings of their own.
constexpr Bytes kChunkOverhead = 8;
constexpr Bytes kChunkStep = 16;
/// The chance of an error is shared with the test of the sites.
constexpr double kTwice = 2;
/// The chance that a child inherited more than its upper limit.
constexpr double kInheritedMore = 0.001;
/// A leak that is worth recording longer: as a share of what a site kept.
constexpr double kNoticed = 0.1;
/// Normal quantiles of the test's level and of a power of .8, added.
constexpr double kStockPower = 1.645 + 0.842;

/// Resident and swapped bytes of a process when its recording began.
std::optional<double> memory_at_start(const Recording& recording, std::uint32_t process) {
  const Observations* observations = observations_of(recording, process);
  if (observations == nullptr || observations->series.empty()) return std::nullopt;
  const SeriesPoint& first = observations->series.front();
  if (first.time > recording.processes[process].start + kAtStart) return std::nullopt;
  return static_cast<double>(first.counts.resident + first.counts.swapped);
}

/// Upper limits of the bytes that processes had when their recordings began. Each child takes time
/// for the kinds of samples that lived when it was forked, not for the samples.
class BytesAtStart {
 public:
  explicit BytesAtStart(const Recording& recording)
      : recording_(recording),
        largest_interval_(largest_interval_of_fates(recording)),
        known_(recording.processes.size()) {
    for (std::uint32_t i = 0; i < known_.size(); ++i) {
      of_pid_[recording.processes[i].own_pid()].push_back(i);
    }
    for (std::uint32_t i = 0; i < known_.size(); ++i) {
      const std::uint32_t parent = is_child(i) ? parent_of(i) : kNone;
      if (parent != kNone) families_[parent].children.push_back(i);
    }
    for (const Sample& sample : recording.samples) {
      const auto family = families_.find(sample.process);
      if (family != families_.end() && !sample.is_thinned_out) {
        family->second.born.push_back(&sample);
      }
    }
    for (auto& [parent, family] : families_) estimate_inherited(family);
    families_.clear();
  }

  std::optional<double> of(std::uint32_t process) {
    const std::uint32_t parent = is_child(process) ? parent_of(process) : kNone;
    if (parent == kNone) return memory_at_start(recording_, process);
    std::optional<double>& known = known_[process];
    if (known) return known;
    std::optional<double> earlier = 0;
    if (recording_.processes[parent].has_earlier_objects()) earlier = of(parent);
    if (!earlier) return memory_at_start(recording_, process);
    return known = *earlier + inherited_.at(process);
  }

 private:
  /// Samples alike, in the order of estimation::Counts.
  using Kind = std::tuple<Bytes, double, Bytes, double>;
  struct Family {
    std::vector<std::uint32_t> children;
    std::vector<const Sample*> born;  ///< What the parent allocated.
  };

  [[nodiscard]] bool is_child(std::uint32_t process) const {
    const Process& child = recording_.processes[process];
    return child.is_fork_child && !child.has_unseen_objects();
  }

  /// The process that forked a child; kNone if it was not recorded.
  [[nodiscard]] std::uint32_t parent_of(std::uint32_t process) const {
    const Process& child = recording_.processes[process];
    const auto alike = of_pid_.find(child.parent_pid);
    if (alike == of_pid_.end()) return kNone;
    const auto found = std::ranges::find_if(alike->second, [&](std::uint32_t each) {
      return each != process && is_running(recording_.processes[each], child.start);
    });
    return found == alike->second.end() ? kNone : *found;
  }

  /// A sample comes or goes.
  struct Event {
    Nanoseconds time;
    const Sample* sample;
    std::int64_t change;
  };

  /// A child's recording begins with its first allocation, some time after the fork: what counts
  /// is the instant within kAtStart before it at which its parent had most. Goes twice through what
  /// the parent allocated and freed: to find these instants, and to add up what lived then.
  void estimate_inherited(Family& family) {
    std::vector<Event> events;
    for (const Sample* sample : family.born) {
      events.push_back({sample->time, sample, 1});
      if (sample->free_time != 0) events.push_back({sample->free_time, sample, -1});
    }
    std::ranges::stable_sort(events, {}, &Event::time);
    std::vector<std::pair<std::size_t, std::uint32_t>> instants = largest_heaps(family, events);
    std::map<Kind, std::int64_t> live;
    std::size_t next = 0;
    for (const auto& [count, child] : instants) {
      for (; next < count; ++next) {
        const estimation::Count kind = count_of_fate(recording_, *events[next].sample);
        const Kind key{kind.size, kind.lambda, kind.value, kind.keep};
        std::int64_t& number = live[key];
        number += events[next].change * static_cast<std::int64_t>(kind.count);
        if (number == 0) live.erase(key);
      }
      inherited_[child] = most_of(live);
    }
  }

  /// After how many events the parent had most before each child, in their order.
  std::vector<std::pair<std::size_t, std::uint32_t>> largest_heaps(
      Family& family, const std::vector<Event>& events) const {
    const auto start_of = [&](std::uint32_t child) { return recording_.processes[child].start; };
    std::ranges::sort(family.children, {}, start_of);
    std::vector<double> bytes{0};
    for (const Event& event : events) {
      const double weight = weight_of(recording_, *event.sample);
      bytes.push_back(bytes.back() + static_cast<double>(event.change) * weight);
    }
    /// Counts of events after which more is live than after all later ones.
    std::deque<std::size_t> largest{0};
    std::vector<std::pair<std::size_t, std::uint32_t>> found;
    std::size_t next = 0;
    for (const std::uint32_t child : family.children) {
      for (; next < events.size() && events[next].time <= start_of(child); ++next) {
        while (!largest.empty() && bytes[largest.back()] <= bytes[next + 1]) largest.pop_back();
        largest.push_back(next + 1);
      }
      // What a count says lasts until the next event.
      while (largest.size() > 1 && events[largest.front()].time + kAtStart < start_of(child)) {
        largest.pop_front();
      }
      found.emplace_back(largest.front(), child);
    }
    return found;
  }

  [[nodiscard]] double most_of(const std::map<Kind, std::int64_t>& live) const {
    estimation::Counts counts;
    for (const auto& [kind, number] : live) {
      const auto& [size, lambda, value, keep] = kind;
      counts.push_back({size, lambda, static_cast<std::uint64_t>(number), value, keep});
    }
    make_canonical(counts);
    estimation::NodeSums sums = sums_of(counts);
    sums.could_have_sampled(largest_interval_);
    return estimation::estimate_bytes(sums, 1 - 2 * kInheritedMore).interval.hi;
  }

  const Recording& recording_;
  const double largest_interval_;
  std::vector<std::optional<double>> known_;  ///< By process; none: not computed, or nothing known.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> of_pid_;
  std::unordered_map<std::uint32_t, Family> families_;   ///< By parent.
  std::unordered_map<std::uint32_t, double> inherited_;  ///< By child.
};

double count_in(const ChunkCensus& census, Bytes chunk) {
  const auto found = std::ranges::lower_bound(census.in_use, chunk, {}, &ChunkCount::bytes);
  const bool is_there = found != census.in_use.end() && found->bytes == chunk;
  return is_there ? static_cast<double>(found->count) : 0;
}

const ChunkCensus* nearest(std::span<const ChunkCensus> walks, Nanoseconds time) {
  const auto distance = [&](const ChunkCensus& walk) {
    return walk.time > time ? walk.time - time : time - walk.time;
  };
  return &*std::ranges::min_element(walks, {}, distance);
}

double steady_p(const LeakChanges& changes) {
  return is_lasting(changes) ? estimation::steady_growth_p(changes) : 1;
}

}  // namespace

LateGrowthTest::LateGrowthTest(const Recording& recording, std::span<const ActiveTime> active,
                               const Options& options)
    : recording_(recording),
      options_(options),
      largest_interval_(largest_interval_of_fates(recording)) {
  const LeakWindows windows(options.from);
  BytesAtStart at_start(recording);
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    times_.push_back(time_of(i, active[i], windows));
    const bool had_any = recording.processes[i].has_earlier_objects();
    had_.push_back(had_any ? at_start.of(i) : std::nullopt);
  }
  count_chunks();
  find_growing();
}

LateGrowthTest::Time LateGrowthTest::time_of(std::uint32_t process, const ActiveTime& active,
                                             const LeakWindows& windows) const {
  Time time;
  const Observations* observations = observations_of(recording_, process);
  std::span<const ChunkCensus> walks;
  if (recording_.processes[process].has_earlier_objects() && observations != nullptr) {
    walks = observations->walks;
    const auto later = std::ranges::upper_bound(walks, active.to, {}, &ChunkCensus::time);
    walks = walks.first(static_cast<std::size_t>(later - walks.begin()));
  }
  for (std::size_t i = 0; i < kBounds; ++i) {
    time.bounds[i] = windows.bound_of(i, active);
    if (walks.empty()) continue;
    time.walks[i] = nearest(walks, time.bounds[i]);
    time.bounds[i] = time.walks[i]->time;
  }
  time.is_walked = !walks.empty() && time.bounds.front() < time.bounds.back();
  return time;
}

void LateGrowthTest::count_chunks() {
  for (std::uint32_t process = 0; process < times_.size(); ++process) {
    if (!times_[process].is_walked) continue;
    for (const ChunkCensus* walk : times_[process].walks) {
      for (const ChunkCount& count : walk->in_use) chunks_[{process, count.bytes}];
    }
  }
  for (auto& [key, chunks] : chunks_) {
    const Time& time = times_[key.first];
    for (std::size_t i = 0; i < kBounds; ++i) {
      chunks.in_use[i] = count_in(*time.walks[i], key.second);
    }
  }
  for (const Sample& sample : recording_.samples) {
    if (sample.is_thinned_out) continue;
    const auto key = key_of(sample);
    if (key && key->second != kAllSeen) add(sample, objects_of(sample), chunks_[*key].seen);
  }
}

void LateGrowthTest::find_growing() {
  std::vector<double> p;
  for (const auto& [key, chunks] : chunks_) {
    const Time& time = times_[key.first];
    std::array<double, kLeakWindows> values;
    for (std::size_t i = 0; i < kLeakWindows; ++i) {
      const double grown = chunks.in_use[i + 1] - chunks.in_use[i];
      values[i] = grown * static_cast<double>(key.second);
    }
    const auto changes = changes_of(values, {&key.first, 1});
    const estimation::Trend trend = estimation::trend_of(changes, options_.level);
    p.push_back(std::min(1.0, kTwice * steady_p(changes)));
    growing_.push_back({key.first, key.second, trend.value, trend.interval,
                        static_cast<double>(time.bounds.back() - time.bounds.front()) / 1e9,
                        p.back()});
  }
  const std::vector<double> q = estimation::adjusted_p_values(p);
  for (std::size_t i = 0; i < q.size(); ++i) growing_[i].q_value = q[i];
  std::erase_if(growing_, [&](const GrowingChunks& chunks) { return chunks.q_value > options_.q; });
  std::ranges::stable_sort(growing_, std::greater<>(), &GrowingChunks::bytes);
}

double LateGrowthTest::objects_of(const Sample& sample) const {
  return 1 / estimation::inclusion_probability(count_of_fate(recording_, sample));
}

std::optional<LateGrowthTest::Key> LateGrowthTest::key_of(const Sample& sample) const {
  if (!recording_.processes[sample.process].has_earlier_objects()) {
    return Key{sample.process, kAllSeen};
  }
  const Bytes chunk = sample.usable + kChunkOverhead;
  if (!is_in_walked_heap(sample) || chunk % kChunkStep != 0) return std::nullopt;
  return Key{sample.process, chunk};
}

bool LateGrowthTest::is_in_walked_heap(const Sample& sample) const {
  return times_[sample.process].is_walked && !vocabulary::is_python_block(sample.entry_point);
}

void LateGrowthTest::add(const Sample& sample, double weight, Flow& flow) const {
  const auto& bounds = times_[sample.process].bounds;
  // The first window that an instant is not later than; 0: it is before all.
  const auto place = [&](Nanoseconds time) {
    return static_cast<std::size_t>(std::ranges::lower_bound(bounds, time) - bounds.begin());
  };
  const std::size_t in = is_allocation_seen(sample) ? place(sample.time) : 0;
  const std::size_t out = sample.free_time == 0 ? kBounds : place(sample.free_time);
  const bool comes = in > 0 && in<kBounds, goes = out> 0 && out < kBounds;
  if (comes) flow.changes[in - 1] += weight;
  if (goes) flow.changes[out - 1] -= weight;
  if (comes != goes) flow.variance += weight * weight;
}

std::optional<std::map<LateGrowthTest::Key, LateGrowthTest::Part>> LateGrowthTest::parts_of(
    std::span<const std::uint32_t> samples) const {
  std::map<Key, Part> parts;
  double all_kept = 0, kept_beside = 0;
  for (const std::uint32_t index : samples) {
    const Sample& sample = recording_.samples[index];
    const auto key = key_of(sample);
    const double kept = sample.free_time == 0 ? weight_of(recording_, sample) : 0;
    all_kept += kept;
    if (!key) {
      if (!is_in_walked_heap(sample)) return std::nullopt;
      kept_beside += kept;
      continue;
    }
    Part& part = parts[*key];
    const double objects = objects_of(sample);
    const double bytes = weight_of(recording_, sample);
    part.objects += objects;
    part.bytes += bytes;
    add(sample, key->second == kAllSeen ? bytes : objects, part.seen);
  }
  if (parts.empty() || kept_beside > all_kept / 2) return std::nullopt;
  return parts;
}

bool LateGrowthTest::concerns(std::span<const std::uint32_t> samples) const {
  return std::ranges::any_of(samples, [&](std::uint32_t index) {
    return recording_.processes[recording_.samples[index].process].has_earlier_objects();
  });
}

LeakChanges LateGrowthTest::changes_of(const std::array<double, kLeakWindows>& values,
                                       std::span<const std::uint32_t> processes) const {
  LeakChanges changes;
  for (std::size_t i = 0; i < kLeakWindows; ++i) {
    changes[i].value = values[i];
    for (const std::uint32_t process : processes) {
      const auto& bounds = times_[process].bounds;
      changes[i].length += static_cast<double>(bounds[i + 1] - bounds[i]) / 1e9;
    }
  }
  return changes;
}

/// All unseen frees of its sizes count as the site's.
void LateGrowthTest::judge_by_chunks(const std::map<Key, Part>& parts, double kept_per_second,
                                     LateGrowth& growth) const {
  growth.by = LateGrowth::By::kChunks;
  std::array<double, kLeakWindows> balance{};
  double variance = 0, others_kept = 0;
  std::vector<std::uint32_t> processes;
  for (const auto& [key, part] : parts) {
    if (processes.empty() || processes.back() != key.first) processes.push_back(key.first);
    if (key.second == kAllSeen) {
      for (std::size_t i = 0; i < kLeakWindows; ++i) balance[i] += part.seen.changes[i];
      continue;
    }
    const Chunks& chunks = chunks_.at(key);
    const double size = part.bytes / part.objects;  // As requested, on average.
    for (std::size_t i = 0; i < kLeakWindows; ++i) {
      const double others = chunks.seen.changes[i] - part.seen.changes[i];
      balance[i] += size * (chunks.in_use[i + 1] - chunks.in_use[i] - others);
      others_kept += size * others;
    }
    variance += size * size * std::max(0.0, chunks.seen.variance - part.seen.variance);
    const auto bytes = static_cast<double>(key.second);
    growth.in_use_from += chunks.in_use.front() * bytes;
    growth.in_use_to += chunks.in_use.back() * bytes;
    growth.chunk = parts.size() == 1 ? key.second : 0;
  }
  const auto changes = changes_of(balance, processes);
  for (const Change& change : changes) growth.seconds += change.length;
  const double sum = std::reduce(balance.begin(), balance.end());
  // What others kept and left no sample of is exponential where none of theirs is known.
  const double alpha = estimation::alpha_of(options_.level) / 2;
  const bool is_alone = !(variance > 0);
  const double error = std::sqrt(variance + largest_interval_ * largest_interval_);
  growth.at_least = sum - (is_alone ? -std::log(alpha) * largest_interval_
                                    : estimation::upper_normal_quantile(alpha) * error);
  const double by_chance = is_alone ? std::exp(-std::max(0.0, sum) / largest_interval_)
                                    : estimation::normal_below(-sum / error);
  growth.p_value = std::max(steady_p(changes), sum > 0 ? by_chance : 1);
  if (kept_per_second > 0) {
    const double others = std::max(0.0, others_kept / growth.seconds);
    const double turnover = others > 0 ? growth.in_use_from / others : 0;
    growth.decided_after = turnover + estimation::seconds_to_find_leak(kNoticed * kept_per_second,
                                                                       others, largest_interval_);
  }
}

/// All that was in memory may have been freed.
void LateGrowthTest::judge_by_memory(std::span<const std::uint32_t> samples, double kept_per_second,
                                     LateGrowth& growth) const {
  std::vector<bool> is_known(recording_.processes.size(), false);
  bool is_inherited = true;
  double squares = 0;
  for (const std::uint32_t index : samples) {
    const Sample& sample = recording_.samples[index];
    const Process& process = recording_.processes[sample.process];
    if (!process.has_earlier_objects()) continue;
    if (!is_known[sample.process]) {
      is_known[sample.process] = true;
      if (!had_[sample.process]) return;
      growth.in_use_from += *had_[sample.process];
      is_inherited = is_inherited && !process.has_unseen_objects();
    }
    if (sample.free_time != 0 || !is_allocation_seen(sample)) continue;
    const double bytes = weight_of(recording_, sample);
    squares += bytes * bytes;
  }
  growth.by = is_inherited ? LateGrowth::By::kInherited : LateGrowth::By::kMemory;
  const estimation::Gamma kept{growth.kept, std::sqrt(squares)};
  const double alpha = estimation::alpha_of(options_.level) / 2;
  growth.at_least = kept.lower_quantile(alpha) - growth.in_use_from;
  // Of samples that are Poisson: P(as many, of what was in memory) = P(gamma(K/w) <= H/w).
  if (!(growth.kept > 0)) return;
  growth.p_value =
      std::min(1.0, kept.below(growth.in_use_from) + (is_inherited ? kInheritedMore : 0));
  const double noise = std::sqrt(growth.in_use_from * largest_interval_);
  growth.decided_after = std::max(growth.in_use_from / kept_per_second,
                                  kStockPower * noise / (kNoticed * kept_per_second));
}

LateGrowth LateGrowthTest::judge(std::span<const std::uint32_t> samples) const {
  LateGrowth growth;
  std::vector<bool> is_known(recording_.processes.size(), false);
  for (const std::uint32_t index : samples) {
    const Sample& sample = recording_.samples[index];
    const Process& process = recording_.processes[sample.process];
    if (!process.has_earlier_objects()) continue;
    const bool is_kept = sample.free_time == 0 && is_allocation_seen(sample);
    if (is_kept) growth.kept += weight_of(recording_, sample);
    if (is_known[sample.process]) continue;
    is_known[sample.process] = true;
    growth.seconds += static_cast<double>(process.end - process.start) / 1e9;
  }
  const double kept_per_second = growth.seconds > 0 ? growth.kept / growth.seconds : 0;
  const auto parts = parts_of(samples);
  if (!parts) {
    judge_by_memory(samples, kept_per_second, growth);
    return growth;
  }
  growth.seconds = 0;
  judge_by_chunks(*parts, kept_per_second, growth);
  for (const GrowingChunks& chunks : growing_) {
    if (parts->contains({chunks.process, chunks.chunk})) growth.growing.push_back(chunks.chunk);
  }
  return growth;
}

}  // namespace geiger::profile
