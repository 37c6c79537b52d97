// What was allocated and freed soon: blocks that growth copied, and blocks to reuse.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/advice/candidates.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/totals.h"

namespace geiger::advice {

namespace {

using profile::Answer;
using profile::kNone;
using profile::Recording;
using profile::Sample;
using vocabulary::EntryPoint;
using Samples = std::vector<std::uint32_t>;

bool is_realloc(const Sample& sample) {
  switch (sample.entry_point) {
    case EntryPoint::kRealloc:
    case EntryPoint::kReallocarray:
    case EntryPoint::kPyObjectRealloc:
    case EntryPoint::kPyMemRealloc:
      return true;
    default:
      return false;
  }
}

/// The time in which a block that grows is copied: at 200 MB/s, and a wait for the processor.
constexpr Nanoseconds copying_time(Bytes bytes) { return profile::kTemporaryLife + 5 * bytes; }

/// Decides of each sample whether the next growth of its container freed it.
class Growth {
 public:
  Growth(const Recording& recording, StackBook& stacks)
      : recording_(recording), stacks_(stacks), answers_(recording.samples.size(), Answer::kNo) {
    std::map<Chain, Samples> chains;
    for (std::uint32_t i = 0; i < recording.samples.size(); ++i) {
      const Sample& sample = recording.samples[i];
      if (!grows(sample) || sample.is_thinned_out || sample.stack == kNone) continue;
      const bool is_known = sample.free_stack != kNone;
      if (is_known) answers_[i] = is_freed_by_growth(sample);
      // Whether realloc made a block larger or smaller its stack does not tell.
      if (is_realloc(sample) || !is_known) {
        chains[{sample.process, sample.thread, stacks_[sample.stack].place}].push_back(i);
      }
    }
    for (auto& [chain, blocks] : chains) match(blocks);
  }

  /// Whether a container grew into the sample.
  [[nodiscard]] bool grows(const Sample& sample) const {
    return sample.stack != kNone && (is_realloc(sample) || stacks_[sample.stack].growth != nullptr);
  }
  [[nodiscard]] Answer is_copied(std::uint32_t sample) const { return answers_[sample]; }

 private:
  using Chain = std::tuple<std::uint32_t, std::uint32_t, Place>;  ///< Process, thread, place.

  [[nodiscard]] Answer is_freed_by_growth(const Sample& sample) const {
    const StackFacts& made = stacks_[sample.stack];
    const StackFacts& freed = stacks_[sample.free_stack];
    if (is_realloc(sample)) return made.leaf == freed.leaf && made.place == freed.place;
    return freed.growth != nullptr && freed.growth->container == made.growth->container;
  }

  /// Of blocks of one place and thread, by times: growth allocates a
  /// larger block, copies, and then frees the old one, before it grows again; realloc has freed it
  /// before the new block is seen. So one block may be the next of the old one. If it is not, and
  /// every larger one was recorded, nothing grew.
  void match(Samples& blocks) {
    const auto time_of = [&](std::uint32_t i) { return recording_.samples[i].time; };
    std::ranges::sort(blocks, {}, time_of);
    for (const std::uint32_t i : blocks) {
      const Sample& old = recording_.samples[i];
      const bool is_decided = old.free_stack != kNone && answers_[i] == Answer::kNo;
      if (old.free_time == 0 || is_decided) continue;
      auto next = std::ranges::upper_bound(blocks, old.free_time, {}, time_of);
      // Later than the old one, which is among those before its free.
      if (!is_realloc(old)) --next;
      if (next != blocks.end() && is_next(old, recording_.samples[*next])) {
        answers_[i] = Answer::kYes;
      } else {
        answers_[i] = is_every_larger_recorded(old) ? Answer::kNo : Answer::kOpen;
      }
    }
  }

  [[nodiscard]] static bool is_next(const Sample& old, const Sample& next) {
    // Of containers at most doubled, and one more object; of strings with what is appended.
    constexpr Bytes kMostGrowth = 4;
    const bool is_its_free = old.free_stack == kNone || old.free_stack == next.stack;
    const bool is_larger = is_its_free && next.requested > old.requested &&
                           next.requested / kMostGrowth <= old.requested;
    const auto [first, last] = std::minmax(old.free_time, next.time);
    return is_larger && last - first <= copying_time(old.requested) && !old.free_unseen &&
           old.free_thread == old.thread;
  }

  [[nodiscard]] bool is_every_larger_recorded(const Sample& sample) const {
    return sample.is_certain && recording_.processes[sample.process].thinning == 0;
  }

  const Recording& recording_;
  StackBook& stacks_;
  std::vector<Answer> answers_;  ///< By sample.
};

/// Freed by its thread at once, and below a function that made it, if the stack is known.
Answer is_short_lived(const Sample& sample, StackBook& stacks) {
  const bool is_soon =
      sample.free_time != 0 && sample.free_time - sample.time <= profile::kTemporaryLife;
  if (sample.free_time != 0 && sample.free_unseen) return Answer::kOpen;
  if (!is_soon || sample.thread == kNone || sample.thread != sample.free_thread) return Answer::kNo;
  if (sample.free_stack == kNone || sample.stack == kNone) return Answer::kYes;
  const auto& makers = stacks[sample.stack].callers;
  const auto& users = stacks[sample.free_stack].callers;
  return std::ranges::find_first_of(makers, users) != makers.end();
}

/// The samples of a place by what they count for.
struct Group {
  Samples copied, copied_or_not;
  Samples reusable, reusable_or_not, others;
};

class Work {
 public:
  Work(const Recording& recording, StackBook& stacks, Candidates& out)
      : recording_(recording), stacks_(stacks), growth_(recording, stacks), out_(out) {}

  void look() {
    for (std::uint32_t i = 0; i < recording_.samples.size(); ++i) {
      const Sample& sample = recording_.samples[i];
      if (sample.is_thinned_out || !is_allocation_seen(sample)) continue;
      all_.push_back(i);
      if (sample.stack != kNone) add(groups_[stacks_[sample.stack].place], i);
    }
    out_.wholes[Of::kAllocated] = {profile::sums_of_samples(recording_, all_),
                                   profile::exactly_allocated(recording_)};
    for (const auto& [place, group] : groups_) {
      add_growth(group);
      add_reuse(group);
    }
    // A block that grows may be copied, or die young: without the stack of its free it is neither.
    if (!misses_stacks_ && !misses_sizes_) out_.looked_for.push_back(Advice::kReserve);
    if (!misses_stacks_) out_.looked_for.push_back(Advice::kReuse);
    if (misses_stacks_) {
      out_.not_looked_for.push_back(
          {"growth by copying and short-lived blocks, where blocks grow "
           "and are smaller than the sampling interval",
           "record with --free-stacks"});
    }
    if (misses_sizes_) {
      out_.not_looked_for.push_back({"growth by realloc in blocks below the sampling interval",
                                     "record with a smaller --interval"});
    }
  }

 private:
  void add(Group& group, std::uint32_t index) {
    const Sample& sample = recording_.samples[index];
    const bool grows = growth_.grows(sample);
    if (grows) {
      const Answer is_copied = growth_.is_copied(index);
      if (is_copied == Answer::kYes) {
        group.copied.push_back(index);
        return;
      }
      if (is_copied == Answer::kOpen) {
        (is_realloc(sample) ? misses_sizes_ : misses_stacks_) = true;
        group.copied_or_not.push_back(index);
        return;
      }
    }
    const Answer is_reusable = is_short_lived(sample, stacks_);
    (is_reusable == Answer::kYes    ? group.reusable
     : is_reusable == Answer::kOpen ? group.reusable_or_not
                                    : group.others)
        .push_back(index);
  }

  [[nodiscard]] estimation::NodeSums sums_of(const Samples& yes, const Samples& open) const {
    estimation::NodeSums sums = profile::sums_of_samples(recording_, yes);
    if (!open.empty()) sums.leave_open(profile::sums_of_samples(recording_, open));
    return sums;
  }

  [[nodiscard]] Stacks stacks_of(const Samples& samples) const {
    Stacks stacks;
    for (const std::uint32_t i : samples) {
      const Sample& sample = recording_.samples[i];
      add_to(stacks, sample.stack, weight_of(recording_, sample));
    }
    return stacks;
  }

  void add_growth(const Group& group) {
    if (group.copied.empty()) return;
    Stacks stacks = stacks_of(group.copied);
    const GrowthRule* const growth = stacks_[usual_stack(stacks)].growth;
    out_.places.push_back({.advice = Advice::kReserve,
                           .stacks = std::move(stacks),
                           .saved = sums_of(group.copied, group.copied_or_not),
                           .growth = growth == nullptr ? &kReallocRule : growth,
                           .samples = group.copied});
  }

  void add_reuse(const Group& group) {
    if (group.reusable.empty()) return;
    const estimation::NodeSums saved = sums_of(group.reusable, group.reusable_or_not);
    const double rest = sums_of(group.others, {}).all_bytes() + saved.open.all_bytes();
    out_.places.push_back({.advice = Advice::kReuse,
                           .stacks = stacks_of(group.reusable),
                           .saved = saved,
                           .is_fit = saved.all_bytes() >= kNearlyAll * (saved.all_bytes() + rest),
                           .samples = group.reusable});
  }

  const Recording& recording_;
  StackBook& stacks_;
  const Growth growth_;
  Candidates& out_;
  std::map<Place, Group> groups_;
  Samples all_;
  bool misses_stacks_ = false, misses_sizes_ = false;
};

}  // namespace

void look_at_work(const Recording& recording, StackBook& stacks, Candidates& out) {
  Work(recording, stacks, out).look();
}

}  // namespace geiger::advice
