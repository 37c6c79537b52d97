// Memory: the heap when it was largest, and what of it was touched.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/advice/candidates.h"
#include "analysis/present/measure.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/totals.h"

namespace geiger::advice {

namespace {

using estimation::Estimate;
using estimation::NodeSums;
using profile::Entry;
using profile::Kind;
using profile::kNone;
using profile::Moment;
using profile::Profile;
using profile::Recording;
using profile::Sample;

/// Of objects up to this size a pool saves something worth having.
constexpr Bytes kSmall = 256;
/// The share of the recording's time in which objects die together, and for which others pass.
constexpr double kAtOnce = 0.05, kPassing = 0.05;
/// With more of what was live than this open, something may be missed.
constexpr double kOpen = 0.05;
/// What glibc puts before each block.
constexpr Bytes kHeader = 8;
constexpr Bytes kWord = 8;

/// `profile` of entries that stand for other bytes than their size: those that `value_of` returns,
/// without those of 0.
template <typename ValueOf>
Profile valued(const Profile& profile, std::vector<Entry> entries, const ValueOf& value_of) {
  double ratio = 1;
  for (Entry& entry : entries) {
    entry.value = value_of(entry);
    const auto tried = static_cast<double>(estimation::tried_bytes(entry.requested));
    ratio = std::max(ratio, static_cast<double>(entry.value) / tried);
  }
  std::erase_if(entries, [](const Entry& entry) { return entry.value == 0; });
  Profile other = with_entries(profile, std::move(entries));
  other.largest_ratio *= ratio;
  other.largest_interval *= ratio;
  return other;
}

/// The size that most of the entries' values have.
std::pair<Bytes, Bytes> usual_size(const std::vector<Entry>& entries) {
  std::map<std::pair<Bytes, Bytes>, double> by_size;
  for (const Entry& entry : entries) {
    by_size[{entry.requested, entry.usable}] +=
        static_cast<double>(entry.count) /
        static_cast<double>(estimation::tried_bytes(entry.requested));
  }
  return std::ranges::max_element(by_size, {}, [](const auto& size) { return size.second; })->first;
}

/// The samples of one place at the peak.
struct AtPeak {
  Stacks stacks;
  std::vector<const Sample*> samples;
};

/// When samples end by their program's work, and which of them pass.
class Ends {
 public:
  explicit Ends(const Recording& recording, const std::vector<profile::Teardown>& teardowns)
      : judged_before_(profile::judged_before(teardowns)),
        passing_(kPassing * static_cast<double>(duration_of(recording))) {}

  /// CLOCK_MONOTONIC; infinite of what is tidied up at the end, or is there then.
  [[nodiscard]] double of(const Sample& sample) const {
    const bool is_kept =
        sample.free_time == 0 || sample.free_time >= judged_before_[sample.process];
    return is_kept ? std::numeric_limits<double>::infinity()
                   : static_cast<double>(sample.free_time);
  }
  [[nodiscard]] bool passes(const Sample& sample) const {
    return of(sample) - static_cast<double>(sample.time) <= passing_;
  }

 private:
  std::vector<Nanoseconds> judged_before_;
  double passing_;
};

Estimate peak_of(const Recording& recording, double level) {
  return present::measure_total(recording, select(recording, Kind::kLiveAtPeak), level).bytes;
}

/// By how much the peak would be lower without the passing objects of a place: the difference of
/// both peaks, each with half of the chance to err.
Estimate lowered_by(const Recording& recording, StackBook& stacks, const Ends& ends,
                    const Place& place, double level) {
  // A peak needs samples, processes and rates.
  Recording rest;
  rest.processes = recording.processes;
  rest.epochs = recording.epochs;
  rest.stacks.resize(recording.stacks.size());
  for (const Sample& sample : recording.samples) {
    const bool is_of_place = sample.stack != kNone && stacks[sample.stack].place == place;
    if (!is_of_place || !ends.passes(sample)) rest.samples.push_back(sample);
  }
  const double each = 1 - estimation::alpha_of(level) / 2;
  const Estimate with = peak_of(recording, each), without = peak_of(rest, each);
  Estimate saved;
  saved.variance = with.variance + without.variance;
  saved.interval = {std::max(0.0, with.interval.lo - without.interval.hi),
                    std::max(0.0, with.interval.hi - without.interval.lo)};
  saved.value = std::clamp(with.value - without.value, saved.interval.lo, saved.interval.hi);
  // Chance is in it even if all samples were certain: what was live at the peak below them.
  saved.samples = std::max<std::uint64_t>(with.samples, 1);
  return saved;
}

class PeakSearch {
 public:
  PeakSearch(const Recording& recording, StackBook& stacks, Candidates& out)
      : recording_(recording),
        stacks_(stacks),
        out_(out),
        teardowns_(profile::find_teardowns(recording)),
        ends_(recording, teardowns_) {
    profile::Selection selection;
    selection.kind = Kind::kLiveAtPeak;
    selection.teardowns = &teardowns_;
    const profile::Chosen chosen = choose(recording, selection);
    profile_ = select(recording, selection);
    for (const Sample* sample : chosen.samples) {
      if (sample->stack == kNone) continue;
      AtPeak& place = places_[stacks[sample->stack].place];
      add_to(place.stacks, sample->stack, weight_of(recording, *sample));
      place.samples.push_back(sample);
    }
  }

  void look() {
    const bool has_blocks = check_kind(recording_, Kind::kLiveOverhead, Moment::kLast).has_value();
    // Blocks with what the allocator adds: savings are compared with them.
    out_.wholes[Of::kPeak] = {
        total(recording_, valued(profile_, profile_.entries, [&](const Entry& entry) {
                return std::max(entry.usable, entry.requested) + header_of(entry);
              }))};
    for (const auto& [place, at_peak] : places_) {
      const bool is_pool = has_blocks && add_pool(at_peak);
      if (has_blocks && !is_pool) add_rounding(at_peak);
      add_passing(place, at_peak);
    }
    out_.looked_for.push_back(Advice::kPeak);
    for (const Advice advice : {Advice::kPool, Advice::kRounding}) {
      if (has_blocks) {
        out_.looked_for.push_back(advice);
      } else {
        out_.leave_out(advice, "the recording does not contain usable sizes");
      }
    }
  }

 private:
  [[nodiscard]] Bytes header_of(const Entry& entry) const {
    const profile::Process& process = recording_.processes[entry.process];
    const bool is_glibc = !process.allocator.empty() && other_allocator(process).empty();
    return is_glibc ? kHeader : 0;
  }

  [[nodiscard]] std::vector<Entry> entries_of(const AtPeak& place) const {
    std::vector<Entry> entries;
    for (const Sample* sample : place.samples) entries.push_back(entry_of(recording_, *sample));
    return entries;
  }

  /// Whether nearly all of them are freed within an instant, or not before the program exits.
  [[nodiscard]] bool die_together(const AtPeak& place) const {
    std::vector<std::pair<double, double>> deaths;
    double all = 0;
    for (const Sample* sample : place.samples) {
      all += weight_of(recording_, *sample);
      const double death = ends_.of(*sample);
      const bool has_exited =
          recording_.processes[sample->process].ending == profile::Ending::kExited;
      if (has_exited || std::isfinite(death))
        deaths.emplace_back(death, weight_of(recording_, *sample));
    }
    std::ranges::sort(deaths);
    const double instant = kAtOnce * static_cast<double>(duration_of(recording_));
    double within = 0, most = 0;
    for (std::size_t first = 0, last = 0; last < deaths.size(); ++last) {
      within += deaths[last].second;
      // Infinity minus infinity is NaN, which is not greater than `instant`.
      while (deaths[last].first - deaths[first].first > instant) within -= deaths[first++].second;
      most = std::max(most, within);
    }
    return most >= kNearlyAll * all;
  }

  /// What an arena takes less for them: headers and rounding beyond a word.
  bool add_pool(const AtPeak& place) {
    std::vector<Entry> entries = entries_of(place);
    std::erase_if(entries, [](const Entry& entry) { return entry.requested > kSmall; });
    if (entries.size() < place.samples.size()) return false;
    const Profile saved = valued(profile_, std::move(entries), [&](const Entry& entry) {
      const Bytes in_arena = (entry.requested + kWord - 1) / kWord * kWord;
      const Bytes taken = entry.usable + header_of(entry);
      return taken - std::min(taken, in_arena);
    });
    if (saved.entries.empty()) return false;
    const auto [requested, usable] = usual_size(saved.entries);
    out_.places.push_back({.advice = Advice::kPool,
                           .stacks = place.stacks,
                           .saved = total(recording_, saved),
                           .is_fit = die_together(place),
                           .requested = requested,
                           .usable = usable + header_of(saved.entries.front())});
    return out_.places.back().is_fit;
  }

  void add_rounding(const AtPeak& place) {
    const Profile saved = valued(profile_, entries_of(place), [](const Entry& entry) {
      return entry.usable - std::min(entry.usable, entry.requested);
    });
    if (saved.entries.empty()) return;
    const auto [requested, usable] = usual_size(saved.entries);
    out_.places.push_back({.advice = Advice::kRounding,
                           .stacks = place.stacks,
                           .saved = total(recording_, saved),
                           .requested = requested,
                           .usable = usable});
  }

  void add_passing(const Place& place, const AtPeak& at_peak) {
    std::vector<Entry> entries;
    double passing = 0, all = 0;
    for (const Sample* sample : at_peak.samples) {
      all += weight_of(recording_, *sample);
      if (!ends_.passes(*sample)) continue;
      passing += weight_of(recording_, *sample);
      entries.push_back(entry_of(recording_, *sample));
    }
    if (entries.empty()) return;
    out_.places.push_back(
        {.advice = Advice::kPeak,
         .stacks = at_peak.stacks,
         .saved = total(recording_, with_entries(profile_, std::move(entries))),
         .is_fit = passing >= kNearlyAll * all,
         .bytes = [&recording = recording_, &stacks = stacks_, ends = ends_, place](double level) {
           return lowered_by(recording, stacks, ends, place, level);
         }});
  }

  const Recording& recording_;
  StackBook& stacks_;
  Candidates& out_;
  const std::vector<profile::Teardown> teardowns_;
  const Ends ends_;
  Profile profile_;
  std::map<Place, AtPeak> places_;
};

/// Of each object that was live when the resident set was largest, the bytes that were not touched
/// by then, nor at the last snapshot if it still lived; nothing of those that were made so short a
/// time before that they may still be about to be filled.
std::vector<Entry> never_touched(const Recording& recording) {
  constexpr double kLeastFilling = 1e9;
  const double filling =
      std::max(kLeastFilling, kPassing * static_cast<double>(duration_of(recording)));
  std::map<std::uint32_t, Bytes> untouched;
  for (const Moment moment : {Moment::kMaximum, Moment::kLast}) {
    for (const profile::Observations& observations : recording.observations) {
      const profile::Snapshot* snapshot = snapshot_at(observations, moment);
      if (snapshot == nullptr || !snapshot->residency_fault.empty()) continue;
      for (const profile::SampleResidency& found : snapshot->residency) {
        const Sample& sample = recording.samples[found.sample];
        const bool is_new = moment == Moment::kMaximum;
        if (!was_live(sample, *snapshot) || (!is_new && !untouched.contains(found.sample)))
          continue;
        const auto age = static_cast<double>(snapshot->time) - static_cast<double>(sample.time);
        const Bytes known = std::min(sample.requested, found.resident + found.swapped);
        untouched[found.sample] = age < filling ? 0 : sample.requested - known;
      }
    }
  }
  std::vector<Entry> entries;
  for (const auto& [index, bytes] : untouched) {
    const Sample& sample = recording.samples[index];
    if (sample.is_thinned_out) continue;
    entries.push_back(entry_of(recording, sample));
    entries.back().value = bytes;
  }
  return entries;
}

/// What was live of each process at an instant of its observations, where `time_of` has one.
template <typename TimeOf>
NodeSums live_when_read(const Recording& recording, const TimeOf& time_of) {
  NodeSums sums;
  for (const profile::Observations& observations : recording.observations) {
    profile::Selection selection;
    selection.kind = Kind::kLiveAtEnd;
    selection.at = time_of(observations);
    if (!selection.at) continue;
    selection.keeps = [process = observations.process](const Sample& sample) -> profile::Answer {
      return sample.process == process;
    };
    sums.merge(total(recording, select(recording, selection)));
  }
  return sums;
}

/// A candidate for each place that has entries, with what is open of it.
void add_places(const Recording& recording, StackBook& stacks, const Profile& profile,
                Advice advice, Candidates& out) {
  struct Group {
    std::vector<Entry> entries, open;
  };
  std::map<Place, Group> places;
  for (const Entry& entry : profile.entries) {
    if (entry.stack != kNone) places[stacks[entry.stack].place].entries.push_back(entry);
  }
  for (const Entry& entry : profile.open) {
    const auto place = entry.stack == kNone ? places.end() : places.find(stacks[entry.stack].place);
    if (place != places.end()) place->second.open.push_back(entry);
  }
  for (auto& [place, group] : places) {
    Stacks held;
    for (const Entry& entry : group.entries) {
      add_to(held, entry.stack, static_cast<double>(entry.value));
    }
    Profile own = with_entries(profile, std::move(group.entries));
    own.open = std::move(group.open);
    out.places.push_back(
        {.advice = advice, .stacks = std::move(held), .saved = total(recording, own)});
  }
}

}  // namespace

void look_at_peak(const Recording& recording, StackBook& stacks, Candidates& out) {
  PeakSearch(recording, stacks, out).look();
}

void look_at_snapshots(const Recording& recording, StackBook& stacks, Candidates& out) {
  if (const auto told = check_kind(recording, Kind::kUntouched, Moment::kMaximum);
      !told.has_value()) {
    out.leave_out(Advice::kUntouched, told.reason());
    return;
  }
  out.looked_for.push_back(Advice::kUntouched);
  profile::Selection selection;
  selection.kind = Kind::kUntouched;
  selection.moment = Moment::kMaximum;
  const Profile profile = select_measured(recording, selection);
  const Profile untouched =
      valued(profile, never_touched(recording), [](const Entry& entry) { return entry.value; });
  out.wholes[Of::kSnapshot] = {live_when_read(
      recording, [](const profile::Observations& observations) -> std::optional<Nanoseconds> {
        const profile::Snapshot* snapshot = snapshot_at(observations, Moment::kMaximum);
        if (snapshot == nullptr || !snapshot->residency_fault.empty()) return std::nullopt;
        return snapshot->time;
      })};
  add_places(recording, stacks, untouched, Advice::kUntouched, out);
}

void look_at_contents(const Recording& recording, StackBook& stacks, Candidates& out) {
  constexpr std::pair<Advice, Kind> kContents[] = {{Advice::kBlank, Kind::kWhollyZero},
                                                   {Advice::kDuplicate, Kind::kDuplicate}};
  for (const auto& [advice, kind] : kContents) {
    if (const auto told = check_kind(recording, kind, Moment::kMaximum); !told.has_value()) {
      out.leave_out(advice, told.reason());
      continue;
    }
    out.wholes[Of::kContent] = {live_when_read(
        recording, [](const profile::Observations& observations) -> std::optional<Nanoseconds> {
          const profile::Content* content = content_at(observations, Moment::kMaximum);
          return content == nullptr ? std::nullopt : std::optional(content->time);
        })};
    profile::Selection selection;
    selection.kind = kind;
    selection.moment = Moment::kMaximum;
    const Profile profile = select_measured(recording, selection);
    const double open = total(recording, profile).open.all_bytes();
    if (open <= kOpen * out.wholes[Of::kContent].sums.all_bytes()) {
      out.looked_for.push_back(advice);
    } else {
      out.not_looked_for.push_back(
          {std::string("some ").append(rules_of(advice).waste),
           "their content could not be read, or not compared with that of all others"});
    }
    add_places(recording, stacks, profile, advice, out);
  }
}

}  // namespace geiger::advice
