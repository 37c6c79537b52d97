#include "analysis/compare/collector.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/compare/places.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/frames/stack_answers.h"
#include "analysis/profile/frames/types.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/groups/view.h"
#include "analysis/profile/recording/recording.h"
#include "analysis/profile/select/peak.h"
#include "analysis/profile/select/profile.h"
#include "analysis/profile/select/totals.h"
#include "estimation/difference.h"
#include "estimation/estimate.h"
#include "estimation/sums.h"

namespace geiger::compare {

// What one run saw, by label and stack: the parts that a collector adds up.

/// Adds what a run saw to a side of a site; `run` is its number there.
void add_run(SiteSide& side, const Seen& seen, std::uint32_t run);

/// When all runs are added: E, of `total`, and the bytes that are uneven where objects of at least
/// `certain_from` are certain on both sides.
void settle(SiteSide& side, double certain_from, const estimation::NodeSums& total);

/// Then, with callees included: leaves open what was cut in `total` and may pass through the site.
void leave_cut_open(SiteSide& side, const SiteSide& total);

/// Then, and before a side is scaled: E of both (estimation::settle_next_event).
void settle_next_event(SiteSide& before, SiteSide& after);

/// Adds a site to another that turned out to be the same.
void merge_side(SiteSide& into, const SiteSide& from);

/// What every stack of a profile saw.
[[nodiscard]] std::vector<std::pair<std::uint32_t, Seen>> seen_by_stack(
    const profile::Recording& recording, const profile::Profile& profile);

/// The profiles of the entries of each group, in the order of these; profile::kNone is last.
/// `group_of`: of an entry.
template <typename GroupOf>
[[nodiscard]] std::vector<std::pair<std::uint32_t, profile::Profile>> parts_by(
    const profile::Profile& profile, const GroupOf& group_of);

namespace {

void settle(Seen& seen, double certain_from, const estimation::NodeSums& total) {
  seen.sums.could_have_sampled(total);
  for (const auto& [size, count] : seen.certain_sizes) {
    const auto bytes = static_cast<double>(size);
    if (bytes < certain_from) seen.uneven_bytes += bytes * count;
  }
  seen.certain_sizes.clear();
}

}  // namespace

void Seen::merge(const Seen& other) {
  sums.merge(other.sums);
  cut.merge(other.cut);
  for (const auto& [size, count] : other.certain_sizes) certain_sizes[size] += count;
}

void add_run(SiteSide& side, const Seen& seen, std::uint32_t run) {
  const estimation::NodeSums& sums = seen.sums;
  side.merge(seen);
  if (seen.samples() == 0) return;
  side.values.push_back({run, sums.certain_bytes, sums.weighted_bytes, sums.bytes_variance});
}

void settle(SiteSide& side, double certain_from, const estimation::NodeSums& total) {
  settle(static_cast<Seen&>(side), certain_from, total);
  settle(side.moved, certain_from, total);
}

void leave_cut_open(SiteSide& side, const SiteSide& total) {
  side.sums.leave_open(estimation::rest_of(side.cut, total.cut).at_most());
  side.moved.sums.leave_open(estimation::rest_of(side.moved.cut, total.moved.cut).at_most());
}

void settle_next_event(SiteSide& before, SiteSide& after) {
  estimation::settle_next_event(before.sums, after.sums);
  estimation::settle_next_event(before.moved.sums, after.moved.sums);
}

void merge_side(SiteSide& into, const SiteSide& from) {
  into.merge(from);
  into.moved.merge(from.moved);
  into.values.insert(into.values.end(), from.values.begin(), from.values.end());
  std::ranges::stable_sort(into.values, {}, &RunValue::run);
  std::vector<RunValue> merged;
  for (const RunValue& value : into.values) {
    if (merged.empty() || merged.back().run != value.run) {
      merged.push_back(value);
      continue;
    }
    merged.back().certain_bytes += value.certain_bytes;
    merged.back().weighted_bytes += value.weighted_bytes;
    merged.back().bytes_variance += value.bytes_variance;
  }
  into.values = std::move(merged);
}

std::vector<std::pair<std::uint32_t, Seen>> seen_by_stack(const profile::Recording& recording,
                                                          const profile::Profile& profile) {
  std::unordered_map<std::uint32_t, CertainSizes> certain;
  for (const profile::Entry& entry : profile.entries) {
    const bool is_sure = is_certain(count_of(entry, recording, profile));
    if (!is_sure) continue;
    certain[entry.stack][entry.requested] +=
        static_cast<double>(entry.count) / profile.averaged_over;
  }
  std::vector<std::pair<std::uint32_t, Seen>> seen;
  for (const profile::Row& row : profile::table(recording, profile, profile::GroupBy::kStack)) {
    seen.push_back({row.stack, {.sums = row.self, .certain_sizes = std::move(certain[row.stack])}});
  }
  return seen;
}

template <typename GroupOf>
std::vector<std::pair<std::uint32_t, profile::Profile>> parts_by(const profile::Profile& profile,
                                                                 const GroupOf& group_of) {
  std::map<std::uint32_t, profile::Profile> parts;
  const auto part = [&](const profile::Entry& entry) -> profile::Profile& {
    return parts.try_emplace(std::invoke(group_of, entry), with_entries(profile, {})).first->second;
  };
  for (const profile::Entry& entry : profile.entries) part(entry).entries.push_back(entry);
  for (const profile::Entry& entry : profile.open) part(entry).open.push_back(entry);
  return {std::move_iterator(parts.begin()), std::move_iterator(parts.end())};
}

namespace {

using profile::GroupBy;
using profile::kNone;
using profile::Labels;
using profile::Profile;
using profile::Recording;

constexpr std::size_t kCallersShown = 3;

/// By what an object is, not by where it was allocated.
bool is_of_objects(GroupBy by) { return by == GroupBy::kType || by == GroupBy::kHolder; }

bool is_of_functions(GroupBy by) {
  return by != GroupBy::kModule && by != GroupBy::kLabel && !is_of_objects(by);
}

void note_intervals(SideFacts& side, const Recording& recording) {
  for (const profile::Epoch& epoch : recording.epochs) {
    const auto interval = static_cast<double>(epoch.interval);
    const bool is_first = side.largest_interval == 0;
    side.smallest_interval = is_first ? interval : std::min(side.smallest_interval, interval);
    side.largest_interval = std::max(side.largest_interval, interval);
  }
}

/// Objects that one side may have tried although the other recorded them
/// with certainty are smaller than this.
double certain_everywhere(const Collected& collected) {
  const SideFacts& before = collected.before;
  const SideFacts& after = collected.after;
  const bool is_mixed = before.has_pure || after.has_pure;
  return is_mixed ? std::numeric_limits<double>::infinity()
                  : std::max(before.largest_interval, after.largest_interval);
}

/// Removes what occurs again, keeping the order; quadratic in the few that differ
/// per stack would not do for deep recursion, so it marks the visited ones.
void keep_first(std::vector<std::uint32_t>& places, std::vector<std::uint64_t>& met,
                std::uint64_t stack) {
  std::erase_if(places, [&](std::uint32_t place) {
    if (place >= met.size()) met.resize(place + 1U, 0);
    return std::exchange(met[place], stack) == stack;
  });
}

}  // namespace

/// Adds one recording: what is worked out once per run.
class Collector::Run {
 public:
  Run(Collector& collector, const Recording& recording)
      : collector_(collector),
        recording_(recording),
        labels_(recording),
        roles_(recording, labels_),
        places_(collector.places_.of_labels(recording, labels_, roles_,
                                            !collector.out_.grouping.is_inclusive)),
        answers_(collector.patterns_, recording, labels_, places_, collector.places_) {
    if (collector_.out_.grouping.by != GroupBy::kModule) return;
    for (std::uint32_t i = 0; i < recording.modules.size(); ++i) {
      modules_.push_back(collector_.places_.of_module(recording, i));
    }
  }

  /// From here on stacks are those of allocations within this label.
  void begin_label(std::uint32_t label) {
    answers_.begin_label(label);
    if (collector_.out_.grouping.by != GroupBy::kLabel) return;
    Places& places = collector_.places_;
    name_places_.clear();
    if (label == kNone) name_places_.push_back(places.of_name(std::string(profile::kNoLabel)));
    for (; label != kNone; label = recording_.labels[label].parent) {
      name_places_.push_back(places.of_name(profile::path_of_label(recording_, label)));
    }
  }

  /// From here on stacks are those of objects of this type, or with this holder. `is_open`: it is
  /// not known which they have.
  void begin_objects(const std::string& name, bool is_open) {
    is_open_ = is_open;
    name_places_ = {collector_.places_.of_name(name)};
  }

  /// Adds a stack to its sites and patterns.
  void add(std::uint32_t stack, Seen seen) {
    const bool is_cut = collector_.includes_callers() && !profile::is_whole(recording_, stack);
    if (is_cut || is_open_) seen.cut = seen.sums;
    labels_.collect(recording_, stack, labels_of_stack_);
    labels_.collect_frames(recording_, stack, frames_);
    roles_.keep_shown(labels_of_stack_, frames_);
    shown_.clear();
    for (const std::uint32_t label : labels_of_stack_) shown_.push_back(places_[label]);
    total_.merge(seen);
    add_to_sites(stack, seen);
    for (std::size_t i = 0; i < collector_.patterns_.size(); ++i) {
      const profile::Answer answer = answers_.of(i, stack);
      if (answer == profile::Answer::kYes) budgeted_[i].merge(seen);
      if (answer == profile::Answer::kOpen) budgeted_[i].sums.leave_open(seen.sums.at_most());
    }
  }

  /// Hands what was seen to a side: give(side of a site, seen there).
  template <typename Give>
  void finish(Which which, const Give& give) {
    give(side_of(collector_.out_, which).total, total_);
    for (const std::uint32_t site : used_) {
      give(side_of(collector_.out_.sites[site], which), seen_[site]);
    }
    for (std::size_t i = 0; i < budgeted_.size(); ++i) {
      give(side_of(collector_.out_.budgeted[i], which), budgeted_[i]);
    }
  }

 private:
  void add_to_sites(std::uint32_t stack, const Seen& seen) {
    const Grouping& grouping = collector_.out_.grouping;
    if (grouping.by == GroupBy::kStack) {
      std::vector<std::uint32_t> whole = shown_;
      if (stack != kNone && recording_.stacks[stack].is_truncated) {
        whole.push_back(collector_.places_.truncated());
      }
      if (grouping.has_callers) add_to_callers(whole, seen);
      const std::uint32_t site = collector_.site_of(std::move(whole));
      note_line(site);
      return add_to(site, seen);
    }
    std::vector<std::uint32_t> groups = groups_of(stack);
    if (!grouping.is_inclusive) groups.resize(1);
    if (grouping.by == GroupBy::kLine) {
      for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = line_of(groups[i], frames_[i]);
    }
    keep_first(groups, met_, ++stacks_);
    if (is_of_functions(grouping.by)) note_line(site_of_place(groups[0]));
    for (const std::uint32_t group : groups) add_to(site_of_place(group), seen);
  }

  std::vector<std::uint32_t> groups_of(std::uint32_t stack) {
    const GroupBy by = collector_.out_.grouping.by;
    if (by == GroupBy::kLabel || is_of_objects(by)) return name_places_;
    return by == GroupBy::kModule ? modules_of(stack) : shown_;
  }

  std::uint32_t line_of(std::uint32_t place, std::uint32_t frame) {
    const auto [known, is_new] = lines_.try_emplace({place, frame}, place);
    if (is_new) {
      known->second = collector_.places_.at_line(place, profile::source_line_of(recording_, frame));
    }
    return known->second;
  }

  /// Stacks come with the largest first: its line stays.
  void note_line(std::uint32_t site) {
    if (site >= has_line_.size()) has_line_.resize(site + 1U, false);
    if (has_line_[site]) return;
    profile::SourceLine where = profile::source_line_of(recording_, frames_[0]);
    if (where.file.empty()) return;
    has_line_[site] = true;
    collector_.out_.sites[site].where = std::move(where);
  }

  void add_to_callers(std::vector<std::uint32_t> path, const Seen& seen) {
    while (path.size() > 1) {
      path.erase(path.begin());
      add_to(collector_.site_of(path), seen);
    }
  }

  std::uint32_t site_of_place(std::uint32_t place) {
    if (place >= site_of_place_.size()) site_of_place_.resize(place + 1U, kNone);
    std::uint32_t& site = site_of_place_[place];
    if (site == kNone) site = collector_.site_of({place});
    return site;
  }

  void add_to(std::uint32_t site, const Seen& seen) {
    if (site >= seen_.size()) {
      seen_.resize(site + 1U);
      is_used_.resize(site + 1U, false);
    }
    if (!is_used_[site]) used_.push_back(site);
    is_used_[site] = true;
    seen_[site].merge(seen);
  }

  std::vector<std::uint32_t> modules_of(std::uint32_t stack) {
    std::vector<std::uint32_t> modules;
    if (stack != kNone) {
      for (const std::uint32_t location : recording_.stacks[stack].locations) {
        modules.push_back(module_place(recording_.locations[location].module));
      }
    }
    if (modules.empty()) modules.push_back(module_place(kNone));
    return modules;
  }

  std::uint32_t module_place(std::uint32_t module) {
    return module < modules_.size() ? modules_[module]
                                    : collector_.places_.of_module(recording_, kNone);
  }

  Collector& collector_;
  const Recording& recording_;
  const Labels labels_;
  const profile::FrameRoles roles_;
  std::vector<std::uint32_t> places_;   ///< By label.
  std::vector<std::uint32_t> modules_;  ///< Places that stand for modules.
  PatternAnswers answers_;
  Seen total_;
  std::vector<Seen> seen_;  ///< By site.
  std::vector<bool> is_used_, has_line_;
  std::vector<std::uint32_t> used_;
  std::vector<Seen> budgeted_ = std::vector<Seen>(collector_.patterns_.size());
  std::vector<std::uint32_t> labels_of_stack_, frames_;
  std::vector<std::uint32_t> shown_;  ///< Places that sites are made of, the one to blame first.
  std::vector<std::uint32_t> name_places_;  ///< Of the label and those around it; or of the type.
  bool is_open_ = false;                    ///< Of a type that is not known.
  std::vector<std::uint32_t> site_of_place_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lines_;  ///< By place, frame.
  std::vector<std::uint64_t> met_;  ///< By place: the last stack that had it.
  std::uint64_t stacks_ = 0;
};

std::size_t Collector::PlacesHash::operator()(const std::vector<std::uint32_t>& places) const {
  std::uint64_t hash = profile::table_seed();
  for (const std::uint32_t place : places) hash = profile::spread(hash, place);
  return hash;
}

Collector::Collector(profile::Kind kind, const Grouping& grouping, std::vector<Pattern> patterns,
                     double level)
    : patterns_(std::move(patterns)), level_(level) {
  out_.kind = kind;
  out_.grouping = grouping;
  for (const Pattern& pattern : patterns_) {
    out_.budgeted.push_back({pattern.name(), pattern.module, {}, {}, {}});
  }
}

bool Collector::needs_labels() const {
  return out_.grouping.by == GroupBy::kLabel ||
         std::ranges::any_of(patterns_, &Pattern::is_of_label);
}

bool Collector::includes_callers() const {
  const GroupBy by = out_.grouping.by;
  return out_.grouping.is_inclusive && by != GroupBy::kStack && by != GroupBy::kLabel &&
         !is_of_objects(by);
}

std::uint32_t Collector::site_of(std::vector<std::uint32_t> places) {
  const auto next = static_cast<std::uint32_t>(out_.sites.size());
  const auto [at, is_new] = known_.try_emplace(std::move(places), next);
  if (is_new)
    out_.sites.push_back(
        {.name = {}, .detail = {}, .places = at->first, .before = {}, .after = {}});
  return at->second;
}

void Collector::add_stacks(Run& run, const Recording& recording, const Profile& profile) {
  const auto add_part = [&](const Profile& part) {
    for (const auto& [stack, seen] : seen_by_stack(recording, part)) run.add(stack, seen);
  };
  if (out_.grouping.by == GroupBy::kType) {
    const profile::Types types(recording);
    const auto type_of = [&](const profile::Entry& each) {
      return types.of(each.type, each.stack);
    };
    for (const auto& [type, part] : parts_by(profile, type_of)) {
      run.begin_objects(types[type], type == profile::Types::kUnknown);
      add_part(part);
    }
    return;
  }
  if (out_.grouping.by == GroupBy::kHolder) {
    for (const auto& [holder, part] : parts_by(profile, &profile::Entry::holder)) {
      const std::string name = profile::name_of_holder(recording, holder);
      run.begin_objects(name, profile::is_open_hold(name));
      add_part(part);
    }
    return;
  }
  if (!needs_labels()) return add_part(profile);
  for (const auto& [label, part] : parts_by(profile, &profile::Entry::label)) {
    run.begin_label(label);
    add_part(part);
  }
}

base::Outcome<void> Collector::add(Which which, const Recording& recording, const Profile& profile,
                                   double exposure, const Profile* moved) {
  if (profile.kind != out_.kind) {
    return base::Failure{"profiles of different kinds cannot be compared"};
  }
  if (!(exposure > 0) || std::isinf(exposure)) {
    return base::Failure{"the exposure of a run must be a positive number"};
  }
  SideFacts& side = side_of(out_, which);
  const auto number = static_cast<std::uint32_t>(side.runs.size());
  side.runs.push_back(facts_of(recording, profile, level_));
  side.runs.back().exposure = exposure;
  side.is_split = side.is_split || profile.rate_factor < 1;
  out_.is_part = out_.is_part || profile.is_part;
  note_intervals(side, recording);
  for (const profile::Process& process : recording.processes) {
    // Where fates were thinned, even large objects are there by chance.
    side.has_pure =
        side.has_pure || process.is_pure || (profile.is_of_fates && process.thinning > 0);
  }
  side.total.sums.could_have_sampled(profile.largest_interval, profile.largest_ratio);
  Run run(*this, recording);
  add_stacks(run, recording, profile);
  run.finish(which, [&](SiteSide& of_site, const Seen& seen) { add_run(of_site, seen, number); });
  if (moved == nullptr) return {};
  side.shares_process = true;
  Run moved_run(*this, recording);
  add_stacks(moved_run, recording, *moved);
  moved_run.finish(which, [](SiteSide& of_site, const Seen& seen) { of_site.moved.merge(seen); });
  return {};
}

void Collector::merge_rebuilt() {
  const std::vector<std::uint32_t> shown = places_.unify_rebuilt();
  SitesByPlaces known;
  std::vector<Site> merged;
  for (Site& site : out_.sites) {
    for (std::uint32_t& place : site.places) place = shown[place];
    const auto next = static_cast<std::uint32_t>(merged.size());
    const auto [at, is_new] = known.try_emplace(site.places, next);
    if (is_new) {
      merged.push_back(std::move(site));
      continue;
    }
    for (const Which which : kBoth)
      merge_side(side_of(merged[at->second], which), side_of(site, which));
  }
  out_.sites = std::move(merged);
}

void Collector::describe(Site& site) const {
  const Place& leaf = places_[site.places.front()];
  site.name = leaf.name;
  site.detail = leaf.module;
  if (site.where.file.empty()) site.where = {leaf.file, leaf.line, 0};
  if (out_.grouping.by != GroupBy::kStack) return;
  site.detail.clear();
  for (std::size_t i = 1; i < std::min(site.places.size(), kCallersShown + 1); ++i) {
    if (i > 1) site.detail += " < ";
    site.detail += places_[site.places[i]].name;
  }
}

void Collector::settle_sides() {
  const double certain_from = certain_everywhere(out_);
  for (const Which which : kBoth) {
    SideFacts& side = side_of(out_, which);
    // What was not seen at a site may have been missed by any of the runs.
    settle(side.total, certain_from, side.total.sums);
    for (auto* sites : {&out_.sites, &out_.budgeted}) {
      for (Site& site : *sites) {
        settle(side_of(site, which), certain_from, side.total.sums);
      }
    }
    if (!includes_callers() && !is_of_objects(out_.grouping.by)) continue;
    for (Site& site : out_.sites) leave_cut_open(side_of(site, which), side.total);
  }
  // Before gates scale a side: its next event grows with it then, the other side's does not.
  settle_next_event(out_.before.total, out_.after.total);
  for (auto* sites : {&out_.sites, &out_.budgeted}) {
    for (Site& site : *sites) settle_next_event(site.before, site.after);
  }
}

Collected Collector::finish() {
  merge_rebuilt();
  settle_sides();
  for (Site& site : out_.sites) describe(site);
  std::ranges::sort(out_.sites, [](const Site& a, const Site& b) {
    return std::tie(a.name, a.detail, a.places) < std::tie(b.name, b.detail, b.places);
  });
  for (std::uint32_t i = 0; i < places_.size(); ++i) out_.places.push_back(places_[i]);
  return std::move(out_);
}

// What is known of a run as a whole, and of the runs of a side.

namespace {

using profile::Profile;
using profile::Recording;

/// Gates miss each of their limits with a probability of 1 - level.
void add_peak(RunFacts& facts, const Recording& recording, const Profile& profile, double level) {
  if (!profile.peak || !(level > 0.5)) return;  // Such a level is refused later.
  const double two_sided = 2 * level - 1;
  const estimation::Estimate there =
      estimation::estimate_bytes(total(recording, profile), two_sided, estimation::Form::kTotal);
  const estimation::Estimate peak = estimate_peak(recording, *profile.peak, there, two_sided);
  facts.below_instant = std::max(0.0, there.interval.lo - peak.interval.lo);
  facts.above_instant = std::max(0.0, peak.interval.hi - there.interval.hi);
}

}  // namespace

RunFacts facts_of(const Recording& recording, const Profile& profile, double level) {
  const profile::ProcessTotals totals = profile::all_totals(recording);
  RunFacts facts{totals.exact_bytes,          totals.unsettled_bound,
                 profile.largest_interval,    0,
                 recording.processes.size(),  profile::is_counted(recording),
                 profile::gaps_of(recording), profile::has_stacks_at_limit(recording)};
  facts.calibrates = profile::exactly_allocated(recording).has_value() &&
                     std::ranges::none_of(recording.processes, &profile::Process::is_pure);
  add_peak(facts, recording, profile, level);
  for (const profile::Process& process : recording.processes) {
    facts.dropped += std::accumulate(process.drops.begin(), process.drops.end(), std::uint64_t{0});
  }
  return facts;
}

double SideFacts::exposure() const {
  double sum = 0;
  for (const RunFacts& run : runs) sum += run.exposure;
  return sum;
}

bool SideFacts::has_stacks_at_limit() const {
  return std::ranges::any_of(runs, &RunFacts::has_stacks_at_limit);
}

std::string SideFacts::missing_part() const {
  std::string missing;
  for (const RunFacts& run : runs) {
    if (missing.empty()) missing = profile::missing_part(run.gaps);
  }
  return missing;
}

}  // namespace geiger::compare
