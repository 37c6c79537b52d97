#include "analysis/profile/profile.h"

#include <tsl/robin_set.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/profile/hash.h"
#include "analysis/profile/kinds.h"
#include "analysis/profile/mappings.h"
#include "analysis/profile/measured.h"
#include "analysis/profile/peak.h"

namespace geiger::profile {
namespace {

bool is_same_key(const Entry& a, const Entry& b) {
  const auto key = [](const Entry& entry) {
    return std::tie(entry.stack, entry.process, entry.thread, entry.epoch, entry.requested,
                    entry.usable, entry.is_certain, entry.value, entry.label, entry.type);
  };
  return key(a) == key(b);
}

std::uint64_t hash_of(const Entry& entry) {
  std::uint64_t hash = spread(table_seed(), entry.stack);
  hash = spread(hash, entry.requested);
  hash = spread(hash, std::uint64_t{entry.thread} << 32 | entry.process);
  hash = spread(hash, std::uint64_t{entry.label} << 32 | entry.type);
  hash = spread(spread(hash, entry.usable), entry.value);
  return spread(hash, std::uint64_t{entry.epoch} << 1 | entry.is_certain);
}

/// Collects samples into entries, in order of first appearance.
class EntrySet {
 public:
  explicit EntrySet(std::vector<Entry>& entries)
      : entries_(entries), known_(64, Hash{entries}, Same{entries}) {}

  void add(const Sample& sample, bool is_certain) {
    entries_.push_back({.stack = sample.stack,
                        .process = sample.process,
                        .thread = sample.thread,
                        .epoch = sample.epoch,
                        .requested = sample.requested,
                        .usable = sample.usable,
                        .count = 1,
                        .is_certain = is_certain,
                        .label = sample.label,
                        .type = sample.type});
    const auto [place, is_new] = known_.insert(entries_.size() - 1);
    if (is_new) return;
    entries_.pop_back();
    ++entries_[*place].count;
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

double largest_interval_of(const Recording& recording, double rate_factor) {
  double largest = 0;
  for (const Epoch& epoch : recording.epochs) largest = std::max(largest, 1.0 / epoch.lambda);
  return largest / rate_factor;
}

bool is_kept(const Selection& selection, const Sample& sample) {
  return sample.heap == selection.heap && (!selection.keeps || selection.keeps(sample));
}

template <typename IsSelected>
Profile select_if(const Recording& recording, const Selection& selection,
                  const IsSelected& is_selected) {
  Profile profile;
  profile.kind = selection.kind;
  EntrySet entries(profile.entries);
  for (const Sample& sample : recording.samples_beside(selection.heap)) {
    if (!is_kept(selection, sample) || !is_selected(sample)) continue;
    entries.add(sample, is_surely_sampled(recording, sample));
  }
  profile.largest_interval = largest_interval_of(recording, profile.rate_factor);
  return profile;
}

bool is_in_window(const Selection& selection, const Sample& sample) {
  return !(selection.from && sample.time < *selection.from) &&
         !(selection.to && sample.time >= *selection.to);
}

Profile select_peak(const Recording& recording, const Selection& selection) {
  const auto& samples = recording.samples_beside(selection.heap);
  const bool is_split = std::ranges::any_of(
      samples, [&](const Sample& sample) { return !is_surely_sampled(recording, sample); });
  std::vector<Nanoseconds> peaks = locate_peaks(recording, is_split, selection.heap);
  Profile profile = select_if(recording, selection, [&](const Sample& sample) {
    return halves_of(recording, sample).in_second && is_live_at(sample, peaks[sample.process]);
  });
  if (is_split) profile.rate_factor = 0.5;
  profile.largest_interval = largest_interval_of(recording, profile.rate_factor);
  profile.peak_times = std::move(peaks);
  return profile;
}

}  // namespace

Profile select(const Recording& recording, const Selection& selection) {
  switch (selection.kind) {
    case Kind::kAllocated:
      break;
    case Kind::kLiveAtEnd:
      return select_if(recording, selection,
                       [](const Sample& sample) { return sample.free_time == 0; });
    case Kind::kLiveAtPeak:
      return select_peak(recording, selection);
    case Kind::kMapped:
    case Kind::kMappedAtPeak:
    case Kind::kMappedTotal:
    case Kind::kReserved:
    case Kind::kMappedFiles:
      return select_mappings(recording, selection);
    default:
      return select_measured(recording, selection);
  }
  return select_if(recording, selection,
                   [&](const Sample& sample) { return is_in_window(selection, sample); });
}

Profile select(const Recording& recording, Kind kind) {
  Selection selection;
  selection.kind = kind;
  return select(recording, selection);
}

estimation::Count count_of(const Entry& entry, const Recording& recording, const Profile& profile) {
  estimation::Count count{.size = entry.requested, .count = entry.count, .value = entry.value};
  if (entry.value == entry.requested) count.value = estimation::kWholeSize;
  if (!entry.is_certain) count.lambda = recording.epochs[entry.epoch].lambda * profile.rate_factor;
  return count;
}

void accumulate(estimation::NodeSums& sums, const Entry& entry, const Recording& recording,
                const Profile& profile) {
  const estimation::Count count = count_of(entry, recording, profile);
  estimation::add(sums, count, count.count);
  // What was not seen at this node may have been drawn with the largest interval.
  sums.could_have_sampled(profile.largest_interval);
}

estimation::NodeSums total(const Recording& recording, const Profile& profile) {
  estimation::NodeSums sums = sums_of(kinds_of(recording, profile).counts);
  sums.could_have_sampled(profile.largest_interval);
  return sums;
}

namespace {

constexpr std::pair<Kind, std::string_view> kNames[] = {
    {Kind::kAllocated, "allocated"},
    {Kind::kLiveAtEnd, "live"},
    {Kind::kLiveAtPeak, "peak"},
    {Kind::kMapped, "mapped"},
    {Kind::kMappedAtPeak, "mapped-peak"},
    {Kind::kMappedTotal, "mapped-total"},
    {Kind::kReserved, "reserved"},
    {Kind::kMappedFiles, "mapped-files"},
    {Kind::kResident, "resident"},
    {Kind::kSwapped, "swapped"},
    {Kind::kUntouched, "untouched"},
    {Kind::kStranded, "stranded"},
    {Kind::kOverhead, "overhead"},
    {Kind::kLiveOverhead, "live-overhead"},
};

}  // namespace

std::string_view name_of(Kind kind) {
  const auto named = std::ranges::find(kNames, kind, &std::pair<Kind, std::string_view>::first);
  return named == std::end(kNames) ? "unknown" : named->second;
}

std::optional<Kind> kind_named(std::string_view name) {
  const auto named = std::ranges::find(kNames, name, &std::pair<Kind, std::string_view>::second);
  if (named == std::end(kNames)) return std::nullopt;
  return named->first;
}

}  // namespace geiger::profile
