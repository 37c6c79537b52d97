#include "analysis/profile/lives/lifetimes.h"

#include <fmt/format.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"
#include "base/index_of.h"
#include "estimation/counts.h"
#include "estimation/estimate.h"

namespace geiger::profile {

namespace {

using estimation::Count;
using estimation::Counts;
using estimation::NodeSums;

constexpr std::uint16_t kUnknownCpu = 0xfff;

bool is_selected(const Sample& sample, LifetimeGrouping grouping,
                 const LifetimeSelection& selection) {
  const TimeSpan& span = selection.allocated_in;
  if (grouping == LifetimeGrouping::kFreeStack && sample.free_stack == kNone) return false;
  if (sample.is_thinned_out) return false;
  if (!is_allocation_seen(sample) && !selection.with_unseen_allocations) return false;
  if (answer_of(selection.keeps, sample) != Answer::kYes) return false;
  return sample.time >= span.from && sample.time < span.to &&
         (sample.free_time != 0 || !selection.observed_only);
}

/// Names groups, and finds the group of a sample.
class Grouper {
 public:
  Grouper(const Recording& recording, LifetimeGrouping grouping, bool joins_recursion)
      : recording_(recording),
        shown_(recording),
        lines_(recording),
        like_(recording.stacks.size(), kNone),
        grouping_(grouping),
        joins_recursion_(joins_recursion) {}

  [[nodiscard]] std::uint32_t key_of(const Sample& sample) {
    switch (grouping_) {
      case LifetimeGrouping::kWhole:
        return 0;
      case LifetimeGrouping::kFunction:
      case LifetimeGrouping::kLine:
        return function_of(sample);
      case LifetimeGrouping::kStack:
        return first_like(sample.stack);
      case LifetimeGrouping::kFreeStack:
        return first_like(sample.free_stack);
      case LifetimeGrouping::kThread:
        return sample.thread;
      case LifetimeGrouping::kType:
        return types().of(sample.type, sample.stack);
      case LifetimeGrouping::kSize:
        return static_cast<std::uint32_t>(std::bit_width(sample.requested));
    }
    return 0;
  }

  void describe(LifetimeGroup& group, std::uint32_t key) {
    switch (grouping_) {
      case LifetimeGrouping::kWhole:
        group.name = "all";
        break;
      case LifetimeGrouping::kFunction:
      case LifetimeGrouping::kLine:
        describe_function(group, key);
        break;
      case LifetimeGrouping::kStack:
      case LifetimeGrouping::kFreeStack:
        shown_.of(key);
        group.name = shown_.labels()[shown_.path().front()].name;
        group.detail = nearest_callers(shown_.labels(), shown_.path());
        group.where = source_line_of(recording_, shown_.frames().front());
        group.stack = key;
        break;
      case LifetimeGrouping::kThread:
        describe_thread(group, key);
        break;
      case LifetimeGrouping::kType:
        group.name = types()[key];
        break;
      case LifetimeGrouping::kSize:
        describe_size(group, key);
        break;
    }
  }

 private:
  const Types& types() {
    if (!types_) types_.emplace(recording_);
    return *types_;
  }

  /// The first stack with the same functions at the same lines, as far as views show them.
  std::uint32_t first_like(std::uint32_t stack) {
    if (stack >= like_.size()) return stack;
    if (like_[stack] != kNone) return like_[stack];
    shown_.of(stack);
    std::vector<std::uint32_t> places;
    for (std::size_t i = 0; i < shown_.path().size(); ++i) {
      add_place(place_of(shown_.path()[i], shown_.frames()[i]), places);
    }
    return like_[stack] = by_places_.try_emplace(std::move(places), stack).first->second;
  }

  /// Texts are compared once for each frame, not in each stack.
  std::uint32_t place_of(std::uint32_t label, std::uint32_t frame) {
    const auto [known, is_new] =
        place_of_frame_.try_emplace(std::uint64_t{label} << 32 | frame, kNone);
    if (is_new) {
      const Frame* const said = frame == kNone ? nullptr : &recording_.frames[frame];
      const Place place(label, said == nullptr ? std::string_view() : said->file,
                        said == nullptr ? 0 : said->line);
      const auto next = static_cast<std::uint32_t>(places_.size());
      known.value() = places_.try_emplace(place, next).first->second;
      if (known.value() == labels_.size()) labels_.push_back(label);
    }
    return known.value();
  }

  void add_place(std::uint32_t place, std::vector<std::uint32_t>& places) {
    if (joins_recursion_) {
      positions_.resize(places_.size());
      std::size_t& position = positions_[place];
      // Back at a place, what was called in between is a turn of the recursion.
      const bool is_turn = position < places.size() && places[position] == place;
      if (is_turn) places.resize(position);
      position = places.size();
    }
    places.push_back(place);
  }

  /// The function to blame, or its line.
  std::uint32_t function_of(const Sample& sample) {
    shown_.of(sample.stack);
    const std::uint32_t label = shown_.path().front(), frame = shown_.frames().front();
    const std::uint32_t group =
        grouping_ == LifetimeGrouping::kLine ? place_of(label, frame) : label;
    // Of a sample below T the draws say T bytes, whatever its size.
    const Bytes interval = recording_.epochs[sample.epoch].interval;
    lines_.add(group, frame, static_cast<double>(std::max(sample.requested, interval)));
    return group;
  }

  void describe_function(LifetimeGroup& group, std::uint32_t key) const {
    const Label& label = shown_.labels()[grouping_ == LifetimeGrouping::kLine ? labels_[key] : key];
    group.name = label.name;
    group.where = lines_.heaviest(key);
    if (label.module != kNone && !label.is_location) {
      group.detail = shown_.labels().module_name(label.module);
    }
  }

  void describe_thread(LifetimeGroup& group, std::uint32_t thread) const {
    if (thread == kNone) {
      group.name = "[no thread]";
      return;
    }
    const Thread& described = recording_.threads[thread];
    group.name = described.name.empty() ? fmt::format("tid {}", described.tid) : described.name;
    if (!described.name.empty()) group.detail = fmt::format("tid {}", described.tid);
  }

  static void describe_size(LifetimeGroup& group, std::uint32_t width) {
    const Bytes least = width == 0 ? 0 : Bytes{1} << (width - 1);
    group.name = fmt::format("{}-{} B", least, least == 0 ? 0 : least * 2 - 1);
  }

  using Place = std::tuple<std::uint32_t, std::string_view, std::uint32_t>;  ///< Label, file, line.

  const Recording& recording_;
  ShownPath shown_;
  LinesOfGroups lines_;
  std::vector<std::uint32_t> like_;  ///< By stack: first_like(), as far as it is known.
  std::map<Place, std::uint32_t> places_;
  std::vector<std::uint32_t> labels_;                                        ///< By place.
  tsl::robin_map<std::uint64_t, std::uint32_t, SpreadHash> place_of_frame_;  ///< Label, frame.
  std::vector<std::size_t> positions_;  ///< By place: where it was last in a stack.
  std::map<std::vector<std::uint32_t>, std::uint32_t> by_places_;
  LifetimeGrouping grouping_;
  bool joins_recursion_;
  std::optional<Types> types_;
};

void sort_groups(std::vector<LifetimeGroup>& groups) {
  std::ranges::sort(groups, [](const LifetimeGroup& a, const LifetimeGroup& b) {
    if (a.weighted_bytes != b.weighted_bytes) return a.weighted_bytes > b.weighted_bytes;
    return std::tie(a.name, a.detail, a.stack) < std::tie(b.name, b.detail, b.stack);
  });
}

NodeSums sums_if(const Recording& recording, std::span<const std::uint32_t> samples,
                 const std::function<bool(const Sample&)>& is_counted) {
  Counts counts;
  for (const std::uint32_t index : samples) {
    const Sample& sample = recording.samples[index];
    if (is_counted(sample)) counts.push_back(count_of_fate(recording, sample));
  }
  make_canonical(counts);
  NodeSums sums = sums_of(counts);
  sums.could_have_sampled(largest_interval_of_fates(recording));
  return sums;
}

bool knows_thread(const Sample& sample) {
  return sample.free_time != 0 && !sample.free_unseen && sample.thread != kNone &&
         sample.free_thread != kNone;
}

bool knows_cpu(const Sample& sample) {
  return sample.free_time != 0 && !sample.free_unseen && sample.cpu != kUnknownCpu &&
         sample.free_cpu != kUnknownCpu;
}

/// Weight of the next object that might have been sampled. Of bytes that is E, or in pure
/// mode, where large objects are tried, as much as the heaviest sample.
double next_weight(const Recording& recording, std::span<const std::uint32_t> samples,
                   CurveOver over, double heaviest) {
  const double interval = largest_interval_of_fates(recording);
  if (interval == 0) return 0;
  if (over == CurveOver::kObjects) {
    return std::max(estimation::heaviest_unseen_object(sums_of_samples(recording, samples)), 1.0);
  }
  // Where fates were thinned, large objects too are followed by chance only.
  const bool is_pure =
      std::ranges::any_of(recording.processes, &Process::is_pure) || is_any_thinned(recording);
  return is_pure ? std::max(interval, heaviest) : interval;
}

}  // namespace

std::vector<LifetimeGroup> lifetime_groups(const Recording& recording, LifetimeGrouping grouping,
                                           const LifetimeSelection& selection) {
  Grouper grouper(recording, grouping, selection.joins_recursion);
  std::vector<LifetimeGroup> groups;
  std::vector<std::uint32_t> keys;
  tsl::robin_map<std::uint32_t, std::uint32_t, SpreadHash> known;
  for (std::uint32_t i = 0; i < recording.samples.size(); ++i) {
    const Sample& sample = recording.samples[i];
    if (!is_selected(sample, grouping, selection)) continue;
    const std::uint32_t group = base::index_of(known, grouper.key_of(sample), keys);
    groups.resize(keys.size());
    groups[group].samples.push_back(i);
  }
  // Lines are known once all samples have been seen.
  for (std::size_t i = 0; i < groups.size(); ++i) {
    LifetimeGroup& group = groups[i];
    if (selection.describes && !selection.describes(group.samples)) continue;
    grouper.describe(group, keys[i]);
    const NodeSums sums = sums_of_samples(recording, group.samples);
    group.weighted_bytes = sums.all_bytes();
  }
  sort_groups(groups);
  return groups;
}

NodeSums sums_of_samples(const Recording& recording, std::span<const std::uint32_t> samples) {
  return sums_if(recording, samples, [](const Sample&) { return true; });
}

NodeSums allocated_sums_of(const Recording& recording, std::span<const std::uint32_t> samples) {
  return sums_if(recording, samples, is_allocation_seen);
}

NodeSums alive_sums_of(const Recording& recording, std::span<const std::uint32_t> samples) {
  return sums_if(recording, samples, [](const Sample& s) { return s.free_time == 0; });
}

LifetimeSums lifetime_sums(const Recording& recording, std::span<const std::uint32_t> samples) {
  const auto sums = [&](const std::function<bool(const Sample&)>& is_counted) {
    return sums_if(recording, samples, is_counted);
  };
  return {.allocated = allocated_sums_of(recording, samples),
          .alive = alive_sums_of(recording, samples),
          .freed = sums([](const Sample& s) { return s.free_time != 0; }),
          .freed_by_known_thread = sums(knows_thread),
          .freed_by_other_thread =
              sums([](const Sample& s) { return knows_thread(s) && s.thread != s.free_thread; }),
          .freed_on_known_cpu = sums(knows_cpu),
          .freed_on_other_cpu =
              sums([](const Sample& s) { return knows_cpu(s) && s.cpu != s.free_cpu; })};
}

Nanoseconds watched_for(const Recording& recording, const Sample& sample) {
  const Nanoseconds until =
      sample.free_time != 0 ? sample.free_time : recording.processes[sample.process].end;
  return until - std::min(until, sample.time);
}

estimation::SurvivalCurve survival_of(const Recording& recording,
                                      std::span<const std::uint32_t> samples, CurveOver over,
                                      double level) {
  std::vector<estimation::Lifetime> lives;
  lives.reserve(samples.size());
  double heaviest = 0;  // Of what chance chose.
  for (const std::uint32_t index : samples) {
    const Sample& sample = recording.samples[index];
    const Count count = count_of_fate(recording, sample);
    const double pi = estimation::inclusion_probability(count);
    if (!(pi > 0)) continue;
    const double size = over == CurveOver::kBytes ? static_cast<double>(count.size) : 1;
    lives.push_back({static_cast<double>(watched_for(recording, sample)), sample.free_time != 0,
                     size / pi, 1 - pi});
    if (pi < 1) heaviest = std::max(heaviest, size / pi);
  }
  const double next = next_weight(recording, samples, over, heaviest);
  return {lives, estimation::SurvivalDesign{.level = level, .next = next}};
}

namespace {

/// Of this many freed objects a 95 % quantile is known to some degree.
constexpr std::size_t kEnoughFreed = 20;
constexpr double kOldQuantile = 0.95;

/// Whether its life shows how long objects live: watched from allocation to free.
bool is_whole_life(const Sample& sample) {
  return sample.free_time != 0 && !sample.is_thinned_out && is_allocation_seen(sample);
}

/// Lives of freed objects and what they weigh.
class FreedLives {
 public:
  void add(Nanoseconds life, double weight) { lives_.emplace_back(life, weight); }

  /// The life that all but 5 % of the weight did not exceed; nothing of too few.
  [[nodiscard]] std::optional<Nanoseconds> old_from() {
    if (lives_.size() < kEnoughFreed) return std::nullopt;
    std::ranges::sort(lives_);
    double sum = 0;
    for (const auto& [life, weight] : lives_) sum += weight;
    double passed = 0;
    for (const auto& [life, weight] : lives_) {
      passed += weight;
      if (passed >= kOldQuantile * sum) return life;
    }
    return lives_.back().first;
  }

 private:
  std::vector<std::pair<Nanoseconds, double>> lives_;
};

}  // namespace

double weight_of(const Recording& recording, const Sample& sample) {
  const estimation::Count count = count_of_fate(recording, sample);
  return static_cast<double>(estimation::tried_bytes(count.size)) /
         estimation::inclusion_probability(count);
}

std::optional<Nanoseconds> old_from(const Recording& recording,
                                    std::span<const std::uint32_t> samples) {
  FreedLives lives;
  for (const std::uint32_t index : samples) {
    const Sample& sample = recording.samples[index];
    if (!is_whole_life(sample)) continue;
    lives.add(watched_for(recording, sample), weight_of(recording, sample));
  }
  return lives.old_from();
}

AgesBySize old_from_by_size(const Recording& recording) {
  std::array<FreedLives, kSizeClasses> lives;
  for (const Sample& sample : recording.samples) {
    if (!is_whole_life(sample)) continue;
    lives[size_class_of(sample.requested)].add(watched_for(recording, sample),
                                               weight_of(recording, sample));
  }
  AgesBySize ages;
  for (std::size_t i = 0; i < ages.size(); ++i) ages[i] = lives[i].old_from();
  return ages;
}

}  // namespace geiger::profile
