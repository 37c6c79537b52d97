#include "analysis/profile/select/profile.h"

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <tuple>
#include <utility>

#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/memory/mappings.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"
#include "base/check.h"

namespace geiger::profile {

LifetimeClass lifetime_class_of(const Sample& sample) {
  if (sample.free_time == 0) return kAliveAtEnd;
  const Nanoseconds lived = sample.free_time - std::min(sample.free_time, sample.time);
  LifetimeClass found = 0;
  for (Nanoseconds limit = 1'000; found + 1 < kAliveAtEnd && lived >= limit; limit *= 10) ++found;
  return found;
}

std::string_view name_of_lifetime(LifetimeClass lifetime) {
  static constexpr std::array<std::string_view, kLifetimeClasses> kNames{
      "< 1 us",     "1-10 us", "10-100 us", "100 us-1 ms", "1-10 ms",   "10-100 ms",
      "100 ms-1 s", "1-10 s",  "10-100 s",  "100-1000 s",  ">= 1000 s", "alive at end"};
  GEIGER_CHECK(lifetime < kNames.size());
  return kNames[lifetime];
}

namespace {

bool is_same_key(const Entry& a, const Entry& b) {
  const auto key = [](const Entry& entry) {
    return std::tie(entry.stack, entry.process, entry.thread, entry.epoch, entry.requested,
                    entry.usable, entry.is_certain, entry.value, entry.label, entry.type,
                    entry.holder, entry.lifetime, entry.log2_alignment);
  };
  return key(a) == key(b);
}

std::uint64_t hash_of(const Entry& entry) {
  std::uint64_t hash = spread(table_seed(), entry.stack);
  hash = spread(hash, entry.requested);
  hash = spread(hash, std::uint64_t{entry.thread} << 32 | entry.process);
  hash = spread(hash, std::uint64_t{entry.label} << 32 | entry.type);
  hash = spread(spread(spread(hash, entry.usable), entry.value), entry.holder);
  hash = spread(hash, std::uint64_t{entry.log2_alignment} << 8 | entry.lifetime);
  return spread(hash, std::uint64_t{entry.epoch} << 1 | entry.is_certain);
}

/// Collects samples into entries, in order of first appearance.
class EntrySet {
 public:
  explicit EntrySet(std::vector<Entry>& entries)
      : entries_(entries), known_(64, Hash{entries}, Same{entries}) {}

  void add(const Entry& entry) {
    entries_.push_back(entry);
    const auto [place, is_new] = known_.insert(entries_.size() - 1);
    if (is_new) return;
    entries_.pop_back();
    entries_[*place].count += entry.count;
  }

 private:
  struct Hash {
    std::reference_wrapper<const std::vector<Entry>> entries;
    std::size_t operator()(std::size_t index) const { return hash_of(entries.get()[index]); }
  };
  struct Same {
    std::reference_wrapper<const std::vector<Entry>> entries;
    bool operator()(std::size_t a, std::size_t b) const {
      return is_same_key(entries.get()[a], entries.get()[b]);
    }
  };

  std::vector<Entry>& entries_;
  tsl::robin_set<std::size_t, Hash, Same, std::allocator<std::size_t>, true> known_;
};

double largest_interval_of(const Recording& recording, const Selection& selection,
                           double rate_factor) {
  const bool is_of_fates = depends_on_fates(selection);
  const double largest =
      is_of_fates ? largest_interval_of_fates(recording) : largest_interval(recording);
  return largest / rate_factor;
}

Answer is_kept(const Selection& selection, const Sample& sample) {
  return sample.heap == selection.heap ? answer_of(selection.keeps, sample) : Answer::kNo;
}

/// Adds a sample or tally to those that the selection has, or to those that it cannot decide about.
template <typename One>
void add(Answer answer, const One& one, std::vector<const One*>& kept,
         std::vector<const One*>& open) {
  if (answer != Answer::kNo) (answer == Answer::kYes ? kept : open).push_back(&one);
}

bool is_in_window(const Selection& selection, Nanoseconds time) {
  return !(selection.from && time < *selection.from) && !(selection.to && time >= *selection.to);
}

/// Open where a free was noticed late, or the recording ended while the object was young.
Answer is_temporary(const Recording& recording, const Sample& sample) {
  const Nanoseconds end =
      sample.free_time != 0 ? sample.free_time : recording.processes[sample.process].end;
  const bool is_young = end <= sample.time + kTemporaryLife;
  if (sample.free_time == 0) return is_young ? Answer::kOpen : Answer::kNo;
  if (is_young) return Answer::kYes;
  return sample.free_unseen ? Answer::kOpen : Answer::kNo;
}

template <typename IsSelected>
void choose_if(Chosen& chosen, const Recording& recording, const Selection& selection,
               const IsSelected& is_selected) {
  const bool is_of_fates = depends_on_fates(selection);
  for (const Sample& sample : recording.samples_beside(selection.heap)) {
    if (is_of_fates && sample.is_thinned_out) continue;
    const Answer answer = is_selected(sample);
    if (answer == Answer::kNo) continue;
    add(std::min(answer, is_kept(selection, sample)), sample, chosen.samples, chosen.open);
  }
}

/// A tally knows no single lives, and of instants only its process's end.
void choose_tallies(Chosen& chosen, const Recording& recording, const Selection& selection) {
  if (selection.from || selection.to || selection.at || selection.splits_by_lifetime) return;
  const bool is_live = selection.kind == Kind::kLiveAtEnd;
  const std::vector<bool> there = there_at_end(recording, selection);
  for (const Tally& tally : recording.tallies) {
    const bool has_any =
        count_of(tally, selection.kind) > 0 && (!is_live || there[tally.alike.process]);
    if (!has_any) continue;
    add(is_kept(selection, tally.alike), tally, chosen.tallies, chosen.open_tallies);
  }
}

/// Whether a sample is independent of the choice of the instant.
bool is_unaware(const Recording& recording, const Selection& selection, const Sample& sample) {
  if (depends_on_fates(selection)) return parts_of(recording, sample).in_second;
  return is_beside_choice(recording, sample);
}

/// What instants that are given select.
void choose_given(Chosen& chosen, const Recording& recording, const Selection& selection) {
  const bool is_split =
      selection.is_chosen_by_samples && is_any_uncertain(recording, selection.heap);
  const std::vector<bool> there = there_at_end(recording, selection);
  const auto is_live_then = [&](const Sample& sample) {
    if (!selection.at) return sample.free_time == 0 && there[sample.process];
    return is_live_at(sample, *selection.at) &&
           is_running(recording.processes[sample.process], *selection.at);
  };
  choose_if(chosen, recording, selection, [&](const Sample& sample) -> Answer {
    const bool is_selected =
        selection.kind == Kind::kLiveAtEnd
            ? is_live_then(sample)
            : is_allocation_seen(sample) && is_in_window(selection, sample.time);
    if (!is_selected || (is_split && !is_unaware(recording, selection, sample))) return Answer::kNo;
    return selection.kind == Kind::kTemporary ? is_temporary(recording, sample) : Answer::kYes;
  });
  choose_tallies(chosen, recording, selection);
  if (is_split) chosen.rate_factor = 1 - kLocatingShare;
}

/// What a sample is to an estimate of what lives, by all samples or by the second part.
estimation::Count fate_count(const Recording& recording, const Sample& sample, double rate_factor) {
  if (rate_factor == 1) return count_of_fate(recording, sample);
  estimation::Count count = count_of(recording, sample);
  const double keep = recording.processes[sample.process].keep();
  if (keep < 1) return second_part(count, keep, true);
  count.lambda *= rate_factor;
  return count;
}

/// The bytes that chosen samples stand for.
estimation::HeapBytes bytes_of(const Recording& recording, const Chosen& chosen) {
  estimation::NodeSums sums;
  for (const Sample* sample : chosen.samples) {
    add(sums, fate_count(recording, *sample, chosen.rate_factor), 1);
  }
  return heap_bytes(sums);
}

void choose_live_at(Chosen& chosen, const Recording& recording, const Selection& selection,
                    Nanoseconds instant, const PeakScope& within) {
  const bool is_split = chosen.rate_factor < 1;
  for (const Sample& sample : samples_for_peak(recording, within)) {
    const bool is_there = !sample.is_thinned_out && is_live_at(sample, instant) &&
                          is_running(recording.processes[sample.process], instant);
    if (is_there && (!is_split || parts_of(recording, sample).in_second)) {
      add(is_kept(selection, sample), sample, chosen.samples, chosen.open);
    }
  }
}

/// The last instant of a window, or of what was recorded.
Nanoseconds end_of(const Recording& recording, const PeakScope& within) {
  const Nanoseconds end = within.process == kNone ? start_of(recording) + duration_of(recording)
                                                  : recording.processes[within.process].end;
  return within.to ? std::min(*within.to, end) : end;
}

/// The last instant before the largest heap that was tidied up, if that was in the window.
std::optional<Nanoseconds> before_teardown(const Recording& recording, const Selection& selection,
                                           const PeakScope& within) {
  if (within.heap != kProcessHeap) return std::nullopt;
  std::vector<Teardown> own;
  const bool is_known = within.process == kNone && selection.teardowns != nullptr;
  if (!is_known) own = find_teardowns(recording, within.process);
  const std::vector<Teardown>& teardowns = is_known ? *selection.teardowns : own;
  const Teardown* largest = nullptr;
  for (std::uint32_t i = 0; i < teardowns.size(); ++i) {
    if (!teardowns[i].is_found() || (within.process != kNone && i != within.process)) continue;
    if (largest == nullptr || teardowns[i].live > largest->live) largest = &teardowns[i];
  }
  if (largest == nullptr || !is_in_window(selection, largest->from - 1)) return std::nullopt;
  return largest->from - 1;
}

void choose_peak(Chosen& chosen, const Recording& recording, const Selection& selection,
                 std::uint32_t process) {
  const PeakScope within{selection.heap, selection.from, selection.to, process};
  const bool is_split = is_any_uncertain(recording, selection.heap);
  Nanoseconds instant = locate_peak(recording, is_split, within).time;
  if (is_split) {
    // Of all samples of the heap: what is filtered does not move the peak.
    Selection all;
    all.heap = selection.heap;
    const auto bytes_at = [&](Nanoseconds other, double rate_factor) {
      Chosen there{.rate_factor = rate_factor};
      choose_live_at(there, recording, all, other, within);
      return bytes_of(recording, there);
    };
    // The end and the last instant before a teardown were not found for being large, so that all
    // samples may estimate them, and no estimate of the peak is below theirs.
    const Nanoseconds end = end_of(recording, within);
    const Nanoseconds free = next_free(recording, within, instant);
    instant = free > end ? end : free - 1;
    chosen.rate_factor = instant == end ? 1 : 1 - kLocatingShare;
    estimation::HeapBytes most = bytes_at(instant, chosen.rate_factor);
    for (const auto& other : {std::optional(end), before_teardown(recording, selection, within)}) {
      if (!other || bytes_at(*other, 1).weighted <= most.weighted) continue;
      most = bytes_at(*other, 1);
      instant = *other;
      chosen.rate_factor = 1;
    }
    chosen.peak = {within, selection.keeps, most};
  }
  choose_live_at(chosen, recording, selection, instant, within);
  chosen.peak_times.assign(recording.processes.size(), instant);
}

}  // namespace

Selection of_kind(Selection selection, Kind kind) {
  const bool is_of_instant = kind == Kind::kLiveAtEnd || is_mapping_snapshot(kind);
  if (is_of_instant) {
    if (!selection.at) selection.at = selection.to;
    selection.from.reset();
    selection.to.reset();
  } else {
    selection.at.reset();
  }
  selection.kind = kind;
  return selection;
}

std::uint64_t count_of(const Tally& tally, Kind kind) {
  switch (kind) {
    case Kind::kAllocated:
    case Kind::kOverhead:
    case Kind::kUsable:
      return is_allocation_seen(tally.alike) ? tally.allocated : 0;
    case Kind::kLiveAtEnd:
    case Kind::kLiveOverhead:
    case Kind::kLiveUsable:
      return tally.is_tracked ? tally.allocated - std::min(tally.freed, tally.allocated) : 0;
    default:
      return 0;
  }
}

Chosen choose(const Recording& recording, const Selection& selection) {
  Chosen chosen;
  if (selection.kind == Kind::kLiveAtPeak) {
    choose_peak(chosen, recording, selection, kNone);
  } else {
    choose_given(chosen, recording, selection);
  }
  chosen.largest_interval = largest_interval_of(recording, selection, chosen.rate_factor);
  return chosen;
}

namespace {

Profile profile_of(const Recording& recording, const Selection& selection, Chosen chosen) {
  Profile profile;
  profile.kind = selection.kind;
  const auto add_entries = [&](std::vector<Entry>& into, const auto& samples, const auto& tallies) {
    EntrySet entries(into);
    for (const Sample* sample : samples) {
      Entry entry = entry_of(recording, *sample);
      if (selection.splits_by_lifetime) entry.lifetime = lifetime_class_of(*sample);
      entries.add(entry);
    }
    for (const Tally* tally : tallies) {
      entries.add(entry_of(recording, tally->alike, count_of(*tally, selection.kind)));
    }
  };
  add_entries(profile.entries, chosen.samples, chosen.tallies);
  add_entries(profile.open, chosen.open, chosen.open_tallies);
  profile.is_of_fates = depends_on_fates(selection);
  profile.rate_factor = chosen.rate_factor;
  profile.largest_interval = chosen.largest_interval;
  profile.peak_times = std::move(chosen.peak_times);
  profile.peak = chosen.peak;
  profile.is_part = selection.is_part();
  profile.heap = selection.heap;
  return profile;
}

}  // namespace

Profile select(const Recording& recording, const Selection& selection) {
  if (is_measured(selection.kind)) return select_measured(recording, selection);
  if (is_of_mappings(selection.kind)) return select_mappings(recording, selection);
  return profile_of(recording, selection, choose(recording, selection));
}

PeakInstant largest_peak(const Recording& recording, std::uint32_t heap) {
  Selection selection;
  selection.kind = Kind::kLiveAtPeak;
  selection.heap = heap;
  Chosen chosen;
  choose_peak(chosen, recording, selection, kNone);
  const bool is_any = !chosen.peak_times.empty();
  return {is_any ? chosen.peak_times.front() : start_of(recording), chosen.rate_factor < 1};
}

Profile own_peak(const Recording& recording, const Selection& selection, std::uint32_t process) {
  const Selection peak = of_kind(selection, Kind::kLiveAtPeak);
  Chosen chosen;
  choose_peak(chosen, recording, peak, process);
  chosen.largest_interval = largest_interval_of(recording, peak, chosen.rate_factor);
  return profile_of(recording, peak, std::move(chosen));
}

Profile select(const Recording& recording, Kind kind) {
  Selection selection;
  selection.kind = kind;
  return select(recording, selection);
}

estimation::Count count_of(const Entry& entry, const Recording& recording, const Profile& profile) {
  estimation::Count count{.size = entry.requested, .count = entry.count, .value = entry.value};
  if (entry.value == entry.requested) count.value = estimation::kWholeSize;
  const double keep = recording.processes[entry.process].keep();
  if (!entry.is_certain) count.lambda = recording.epochs[entry.epoch].lambda;
  if (keep < 1 && profile.rate_factor < 1) return second_part(count, keep, profile.is_of_fates);
  count.lambda *= profile.rate_factor;
  if (profile.is_of_fates) count.keep = keep;
  return count;
}

void accumulate(estimation::NodeSums& sums, const Entry& entry, const Recording& recording,
                const Profile& profile) {
  const estimation::Count count = count_of(entry, recording, profile);
  estimation::NodeSums added;
  estimation::add(added, count, count.count);
  added.average_over(profile.averaged_over);
  sums.merge(added);
  // What was not seen at this node may have been drawn with the largest interval.
  sums.could_have_sampled(profile.largest_interval, profile.largest_ratio);
}

Entry entry_of(const Recording& recording, const Sample& sample, std::uint64_t count) {
  return {.stack = sample.stack,
          .process = sample.process,
          .thread = sample.thread,
          .epoch = sample.epoch,
          .requested = sample.requested,
          .usable = sample.usable,
          .count = count,
          .is_certain = is_surely_sampled(recording, sample),
          .label = sample.label,
          .type = sample.type,
          .holder = sample.holder,
          .log2_alignment = sample.log2_alignment};
}

Profile with_entries(const Profile& profile, std::vector<Entry> entries) {
  Profile other;
  other.kind = profile.kind;
  other.entries = std::move(entries);
  other.averaged_over = profile.averaged_over;
  other.rate_factor = profile.rate_factor;
  other.largest_interval = profile.largest_interval;
  other.largest_ratio = profile.largest_ratio;
  other.is_part = profile.is_part;
  other.is_of_fates = profile.is_of_fates;
  other.heap = profile.heap;
  return other;
}

Profile open_of(const Profile& profile) { return with_entries(profile, profile.open); }

estimation::NodeSums total(const Recording& recording, const Profile& profile) {
  estimation::NodeSums sums = sums_of(kinds_of(recording, profile).counts);
  sums.average_over(profile.averaged_over);
  if (!profile.open.empty()) sums.leave_open(total(recording, open_of(profile)));
  sums.could_have_sampled(profile.largest_interval, profile.largest_ratio);
  return sums;
}

namespace {

using estimation::Count;

struct KindHash {
  std::size_t operator()(const Count& count) const {
    const std::uint64_t hash = spread(spread(table_seed(), count.size), count.value);
    return spread(spread(hash, std::bit_cast<std::uint64_t>(count.lambda)),
                  std::bit_cast<std::uint64_t>(count.keep));
  }
};

struct IsAlike {
  bool operator()(const Count& a, const Count& b) const { return is_alike(a, b); }
};

}  // namespace

Kinds kinds_of(const Recording& recording, const Profile& profile) {
  Kinds kinds;
  kinds.order.reserve(profile.entries.size());
  // First by appearance, then renumbered by their canonical order.
  tsl::robin_map<Count, std::uint32_t, KindHash, IsAlike> places;
  for (const Entry& entry : profile.entries) {
    const Count count = count_of(entry, recording, profile);
    const auto next = static_cast<std::uint32_t>(kinds.counts.size());
    const auto [place, is_new] = places.try_emplace(count, next);
    if (is_new) {
      kinds.counts.push_back(count);
    } else {
      kinds.counts[place->second].count += count.count;
    }
    kinds.order.push_back(place->second);
  }
  std::vector<std::uint32_t> renumbered(kinds.counts.size(), kNone);
  make_canonical(kinds.counts);
  for (std::uint32_t i = 0; i < kinds.counts.size(); ++i) {
    renumbered[places.at(kinds.counts[i])] = i;
  }
  for (std::uint32_t& index : kinds.order) index = renumbered[index];
  return kinds;
}

}  // namespace geiger::profile
