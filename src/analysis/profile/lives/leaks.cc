#include "analysis/profile/lives/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/groups/groupings.h"
#include "analysis/profile/lives/lifetimes.h"
#include "analysis/profile/lives/owners.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/recording/cut.h"
#include "analysis/profile/select/patterns.h"
#include "analysis/profile/select/thinned.h"
#include "analysis/profile/select/totals.h"
#include "base/check.h"
#include "estimation/difference.h"
#include "estimation/scatter.h"

namespace geiger::profile {

namespace {

constexpr std::string_view kType = "leak:";

/// The pattern of a line.
base::Outcome<std::string> pattern_of(std::string_view line) {
  if (!line.starts_with(kType)) {
    return base::Failure{quoted(line) + " does not begin with leak:"};
  }
  const std::string_view pattern = line.substr(kType.size());
  if (pattern.find_first_not_of("*^$") == std::string_view::npos) {
    return base::Failure{"leak: must be followed by part of a name"};
  }
  const std::size_t end = pattern.find('$');
  if (end != std::string_view::npos && end + 1 < pattern.size()) {
    return base::Failure{"$ is allowed only at the end of a pattern"};
  }
  return std::string(pattern);
}

/// Whether `parts` between stars follow one another in `name`, the first at the front and
/// the last at the back where they are held there.
bool follow(std::string_view parts, std::string_view name, bool is_at_front, bool is_at_back) {
  while (true) {
    const std::size_t star = parts.find('*');
    const std::string_view part = parts.substr(0, star);
    const bool is_last = star == std::string_view::npos;
    if (is_last && is_at_back) {
      return is_at_front ? name == part : name.ends_with(part);
    }
    const std::size_t at =
        is_at_front ? (name.starts_with(part) ? 0 : std::string_view::npos) : name.find(part);
    if (at == std::string_view::npos) return false;
    if (is_last) return true;
    name.remove_prefix(at + part.size());
    parts.remove_prefix(star + 1);
    is_at_front = false;
  }
}

}  // namespace

bool matches_suppression(std::string_view pattern, std::string_view name) {
  const bool is_at_front = pattern.starts_with('^');
  if (is_at_front) pattern.remove_prefix(1);
  const bool is_at_back = pattern.ends_with('$');
  if (is_at_back) pattern.remove_suffix(1);
  return follow(pattern, name, is_at_front, is_at_back);
}

base::Outcome<Suppressions> Suppressions::parse(std::string_view text) {
  Suppressions found;
  const auto take = [&](std::string_view line, std::size_t /*number*/) -> base::Outcome<void> {
    found.patterns_.push_back(GEIGER_TRY(pattern_of(line)));
    return {};
  };
  GEIGER_TRY(read_lines(text, take));
  return found;
}

std::uint32_t Suppressions::match(const Recording& recording, std::uint32_t stack) const {
  if (stack == kNone) return kNone;
  const auto is_in = [&](const std::string& pattern) {
    const auto fits = [&](std::string_view name) { return matches_suppression(pattern, name); };
    return std::ranges::any_of(recording.stacks[stack].locations, [&](std::uint32_t index) {
      const Location& location = recording.locations[index];
      if (location.module != kNone && fits(recording.modules[location.module].path)) return true;
      return std::ranges::any_of(location.frames, [&](std::uint32_t frame) {
        return fits(recording.frames[frame].function) || fits(recording.frames[frame].file);
      });
    });
  };
  const auto found = std::ranges::find_if(patterns_, is_in);
  return found == patterns_.end() ? kNone : static_cast<std::uint32_t>(found - patterns_.begin());
}

SearchedSamples::SearchedSamples(const Recording& recording, const Suppressions* suppressions,
                                 const Keeps& keeps)
    : keeps_(keeps) {
  if (suppressions == nullptr || suppressions->is_empty()) return;
  patterns_ = suppressions->size();
  for (std::uint32_t i = 0; i < recording.stacks.size(); ++i) {
    by_stack_.push_back(suppressions->match(recording, i));
  }
}

std::vector<SuppressedLeaks> SearchedSamples::suppressed(const Recording& recording) const {
  std::vector<std::vector<std::uint32_t>> live(patterns_);
  for (std::uint32_t i = 0; i < recording.samples.size(); ++i) {
    const Sample& sample = recording.samples[i];
    const std::uint32_t pattern = pattern_of(sample);
    const bool is_live = sample.free_time == 0 && !sample.is_thinned_out;
    if (pattern == kNone || !is_live || !is_wanted(sample)) continue;
    live[pattern].push_back(i);
  }
  std::vector<SuppressedLeaks> found;
  for (std::uint32_t i = 0; i < live.size(); ++i) {
    if (live[i].empty()) continue;
    found.push_back({i, live[i].size(), sums_of_samples(recording, live[i])});
  }
  return found;
}

namespace {

using estimation::NodeSums;

/// What gets old later than after this share of the time leaves too little to watch.
constexpr double kLatestOld = 0.25;
/// Two tests, so each p-value counts twice.
constexpr double kTests = 2;
/// Where objects from before the recording die unseen, growth is also judged from here on, when
/// fewer of them are left. Each of the two tests counts as often as both above.
constexpr double kLaterPart = 0.5;
/// Sites with less than this share of all live bytes are not worth a "record longer".
constexpr double kWorthDeciding = 0.01;
/// Of all live bytes: sites that hold so much are said to have stopped growing.
constexpr double kLarge = 0.1;
/// Of what a site holds at the end: growth beyond that is noise.
constexpr double kNearlyAll = 0.95;
/// Of what is live, growth that must not have gone unnoticed where a heap is called clear, or a
/// site is said to have stopped: by half since the warm-up.
constexpr double kMostUnnoticed = 0.5;

/// n samples that all stayed have p = 2^-n (difference.h), and there are two tests.
std::uint64_t samples_needed(double q) {
  return static_cast<std::uint64_t>(std::ceil(std::log2(kTests / q)));
}

/// What came to a site after the warm-up and stayed, what left it, and when. Those of several sites
/// add up to the flow of all.
struct Flow {
  std::array<double, kLeakWindows> changes{};
  std::array<std::uint64_t, kLeakWindows> arrivals{};  ///< Of `gained`.
  NodeSums gained, lost;
  std::uint64_t gains = 0, losses = 0;  ///< Samples of these.
  Nanoseconds oldest = 0;               ///< Age at the end, of `gained`.
  bool is_whole = true;                 ///< Of all objects, once they are old enough.

  void merge(const Flow& other) {
    for (std::size_t i = 0; i < kLeakWindows; ++i) {
      changes[i] += other.changes[i];
      arrivals[i] += other.arrivals[i];
    }
    gained.merge(other.gained);
    lost.merge(other.lost);
    gains += other.gains;
    losses += other.losses;
    oldest = std::max(oldest, other.oldest);
    is_whole &= other.is_whole;
  }
};

/// All that is live, and what of it is old.
struct Flows {
  Flow all, old;
  Nanoseconds old_from = 0;  ///< 0: that of the size class, or of each site.

  void merge(const Flows& other) {
    all.merge(other.all);
    old.merge(other.old);
  }
};

/// Follows the samples of a site through the windows.
class Follower {
 public:
  Follower(const Recording& recording, const LeakOptions& options)
      : recording_(recording),
        options_(options),
        windows_(options.warm_up),
        active_(active_times(recording, options.ran_until)),
        ages_(old_from_by_size(recording)),
        late_(recording, active_,
              {.from = options.warm_up, .level = options.level, .q = options.q}) {}

  [[nodiscard]] Flows flows_of(const std::vector<std::uint32_t>& samples) const {
    const std::optional<Nanoseconds> own = old_from(recording_, samples);
    return {flow_of(samples, [](const Sample&) { return Nanoseconds{0}; }),
            flow_of(samples,
                    [&](const Sample& sample) {
                      return own ? own : ages_[size_class_of(sample.requested)];
                    }),
            own.value_or(0)};
  }

  [[nodiscard]] LeakSite judge(LifetimeGroup group, const Flows& flows) const {
    LeakSite site;
    site.group = std::move(group);
    site.allocated = allocated_sums_of(recording_, site.group.samples);
    site.alive = alive_sums_of(recording_, site.group.samples);
    site.all = growth_of(flows.all);
    site.old = growth_of(flows.old);
    site.old_from = flows.old_from;
    site.kept = flows.all.gains;
    site.oldest = flows.all.oldest;
    describe(site);
    site.is_tested = could_be_significant(samples_of(site.group.samples));
    site.p_value = p_of(site.all, site.old);
    return site;
  }

  /// As judge() finds it.
  [[nodiscard]] double p_of(const Flows& flows) const {
    return p_of(growth_of(flows.all), growth_of(flows.old));
  }

  /// Of a site with objects from before the recording, by the memory in use.
  [[nodiscard]] std::optional<LateGrowth> judge_late(const LifetimeGroup& group) const {
    if (!late_.concerns(group.samples)) return std::nullopt;
    LateGrowth growth = late_.judge(group.samples);
    const Flow own = flow_of(group.samples, [](const Sample&) { return Nanoseconds{0}; });
    growth.p_value = std::max(growth.p_value, p_by_chance(net_of(own)));
    return growth;
  }

  [[nodiscard]] const std::vector<GrowingChunks>& growing_chunks() const { return late_.growing(); }

  /// Samples allocated since the warm-up, or live at its end.
  [[nodiscard]] std::uint64_t samples_of(std::span<const std::uint32_t> samples) const {
    const auto count = std::ranges::count_if(samples, [&](std::uint32_t index) {
      const Sample& sample = recording_.samples[index];
      const ActiveTime& active = active_[sample.process];
      return !windows_.is_warm_up(LeakWindows::place(sample.time, active)) ||
             sample.free_time == 0 ||
             !windows_.is_warm_up(LeakWindows::place(sample.free_time, active));
    });
    return static_cast<std::uint64_t>(count);
  }

  /// CLOCK_MONOTONIC: when nearly all was there of what is live at the end; 0: only in the last
  /// third, or nothing is.
  [[nodiscard]] Nanoseconds stopped_at(std::span<const std::uint32_t> samples) const {
    std::vector<std::pair<Nanoseconds, double>> changes;
    Nanoseconds latest = 0;
    double live = 0;
    for (const std::uint32_t index : samples) {
      const Sample& sample = recording_.samples[index];
      const ActiveTime& active = active_[sample.process];
      const double weight = weight_of(recording_, sample);
      latest = std::max(latest, windows_.bound_of(kLeakWindows - kLeakWindows / 3, active));
      changes.emplace_back(sample.time, weight);
      if (sample.free_time == 0) {
        live += weight;
      } else {
        changes.emplace_back(sample.free_time, -weight);
      }
    }
    std::ranges::sort(changes);
    double sum = 0;
    for (const auto& [time, weight] : changes) {
      if (time > latest) return 0;
      sum += weight;
      if (sum >= kNearlyAll * live) return time;
    }
    return 0;
  }

  /// Whether if all of these samples had stayed it would have been significant. What became of them
  /// does not matter here: else only the luckiest would be compared with one another.
  [[nodiscard]] bool could_be_significant(std::uint64_t samples) const {
    return samples >= samples_needed(options_.q);
  }

 private:
  [[nodiscard]] estimation::Difference net_of(const Flow& flow) const {
    return difference(side_of(flow.lost), side_of(flow.gained), options_.level);
  }
  static double p_by_chance(const estimation::Difference& net) {
    return net.value > 0 ? net.exact_p_value / 2 : 1;
  }

  static double p_of(const LeakGrowth& growth) { return growth.is_lasting ? growth.p_value : 1; }
  static double p_of(const LeakGrowth& all, const LeakGrowth& old) {
    return std::min(1.0, kTests * std::min(p_of(all), p_of(old)));
  }

  /// `age_of(sample)`: the age from which a sample takes part, if it ever does.
  template <typename AgeOf>
  [[nodiscard]] Flow flow_of(const std::vector<std::uint32_t>& samples, const AgeOf& age_of) const {
    Flow flow;
    std::vector<std::pair<double, double>> events;  // In order of time: sums depend on it.
    std::vector<std::uint32_t> gained, lost;
    for (const std::uint32_t index : samples) {
      const std::optional<Nanoseconds> age = age_of(recording_.samples[index]);
      flow.is_whole &= age.has_value();
      if (age) follow(index, *age, flow, events, gained, lost);
    }
    std::ranges::sort(events);
    for (const auto& [place, weight] : events) flow.changes[windows_.window_of(place)] += weight;
    flow.gained = sums_of_samples(recording_, gained);
    flow.lost = sums_of_samples(recording_, lost);
    flow.gains = gained.size();
    flow.losses = lost.size();
    for (const std::uint32_t index : gained) {
      flow.oldest = std::max(flow.oldest, watched_for(recording_, recording_.samples[index]));
    }
    return flow;
  }

  void follow(std::uint32_t index, Nanoseconds age, Flow& flow,
              std::vector<std::pair<double, double>>& events, std::vector<std::uint32_t>& gained,
              std::vector<std::uint32_t>& lost) const {
    const Sample& sample = recording_.samples[index];
    const ActiveTime& active = active_[sample.process];
    const Nanoseconds entry = sample.time + age;
    const bool is_freed = sample.free_time != 0;
    const double latest = kLatestOld * static_cast<double>(active.to - active.from);
    flow.is_whole &= static_cast<double>(age) <= latest;
    if (static_cast<double>(age) > latest || entry > active.to) return;
    if (age > 0 && is_freed && sample.free_time <= entry) return;
    const double in = LeakWindows::place(entry, active);
    const double out = LeakWindows::place(sample.free_time, active);
    const double weight = weight_of(recording_, sample);
    // What came before the recording began is what it found there, whatever the warm-up.
    const bool is_early = windows_.is_warm_up(in) || entry < sample.seen_from;
    if (!is_early) events.emplace_back(in, weight);
    if (is_freed && !windows_.is_warm_up(out)) events.emplace_back(out, -weight);
    if (!is_early && !is_freed) {
      gained.push_back(index);
      ++flow.arrivals[windows_.window_of(in)];
    }
    if (is_early && is_freed && !windows_.is_warm_up(out)) lost.push_back(index);
  }

  /// Certain bytes are data here like all others: they are part of the growth.
  static estimation::Side side_of(const NodeSums& sums) {
    return {.sums = sums, .exposure = 1, .uneven_bytes = sums.certain_bytes};
  }

  [[nodiscard]] LeakGrowth growth_of(const Flow& flow) const {
    LeakGrowth growth{.interval = {}, .is_whole = flow.is_whole};
    if (flow.gains + flow.losses == 0) return growth;
    const LeakChanges changes = windows_.with_lengths(flow.changes);
    const estimation::Trend trend = trend_of(changes, options_.level);
    const estimation::Difference net = net_of(flow);
    growth.bytes = net.value;
    growth.interval = {std::min(trend.interval.lo, net.interval.lo),
                       std::max(trend.interval.hi, net.interval.hi)};
    growth.p_value = std::max(steady_growth_p(changes), p_by_chance(net));
    growth.is_lasting = is_lasting(changes);
    growth.is_slowing = !growth.is_lasting && windows_.is_slowing(flow.arrivals);
    return growth;
  }

  void describe(LeakSite& site) const {
    std::vector<bool> is_known(active_.size(), false);
    for (const std::uint32_t index : site.group.samples) {
      const Sample& sample = recording_.samples[index];
      const ActiveTime& active = active_[sample.process];
      site.since += is_allocation_seen(sample) &&
                    !windows_.is_warm_up(LeakWindows::place(sample.time, active));
      if (is_known[sample.process]) continue;
      is_known[sample.process] = true;
      const double judged = (1 - options_.warm_up) * static_cast<double>(active.to - active.from);
      site.seconds += judged / 1e9;
      const Nanoseconds from = active.to - static_cast<Nanoseconds>(judged);
      site.judged_from = site.judged_from == 0 ? from : std::min(site.judged_from, from);
    }
  }

  const Recording& recording_;
  const LeakOptions& options_;
  LeakWindows windows_;
  std::vector<ActiveTime> active_;
  AgesBySize ages_;
  LateGrowthTest late_;
};

/// Judges by what is seen, and where that is not all by the memory in use.
class Judge {
 public:
  Judge(const Recording& recording, const LeakOptions& options)
      : later_options_(from_later(options)), all_(recording, options) {
    if (std::ranges::any_of(recording.processes, &Process::has_earlier_objects)) {
      later_.emplace(recording, later_options_);
    }
  }

  [[nodiscard]] const Follower& seen() const { return all_; }
  [[nodiscard]] const std::vector<GrowingChunks>& growing_chunks() const {
    return all_.growing_chunks();
  }

  [[nodiscard]] LeakSite judge(LifetimeGroup group, const Flows& flows) const {
    LeakSite site = all_.judge(std::move(group), flows);
    site.seen_p_value = site.p_value;
    site.late = all_.judge_late(site.group);
    if (!site.late) return site;
    site.all.interval.lo = std::min(site.all.interval.lo, site.late->at_least);
    if (site.late->by != LateGrowth::By::kChunks) {
      site.p_value = std::max(site.p_value, site.late->p_value);
      return site;
    }
    LateGrowth from_later = *later_->judge_late(site.group);
    std::vector<Bytes> growing = std::move(site.late->growing);  // Of both tests.
    growing.insert(growing.end(), from_later.growing.begin(), from_later.growing.end());
    if (from_later.p_value < site.late->p_value) site.late = std::move(from_later);
    site.late->growing = std::move(growing);
    site.p_value = std::min(1.0, 2 * kTests * site.late->p_value);
    return site;
  }

 private:
  static LeakOptions from_later(LeakOptions options) {
    options.warm_up = std::max(options.warm_up, kLaterPart);
    return options;
  }

  LeakOptions later_options_;
  Follower all_;
  std::optional<Follower> later_;
};

/// Adjusted p-values, of `tested` hypotheses. Those beyond `p` are not rejected: 1.
std::vector<double> adjusted(std::vector<double> p, std::size_t tested) {
  p.resize(tested, 1.0);
  return estimation::adjusted_p_values(p);
}

/// Adjusts over the sites that could be significant, `gone` of which hold nothing any more.
void adjust(Leaks& leaks, std::size_t gone) {
  std::vector<double> p;
  for (const LeakSite& site : leaks.sites) {
    if (site.is_tested) p.push_back(site.p_value);
  }
  leaks.tested = p.size() + gone;
  const std::vector<double> q = adjusted(std::move(p), leaks.tested);
  std::size_t next = 0;
  for (LeakSite& site : leaks.sites) {
    if (site.is_tested) site.q_value = q[next++];
  }
}

/// Grew, and would be suspect but for a slowing down that may be chance.
bool may_be_lasting(const LeakGrowth& growth, double q) {
  return !growth.is_lasting && !growth.is_slowing && kTests * growth.p_value <= q;
}

/// Of a site that was not accused because of objects from before the recording.
Open late_open_of(const LeakSite& site, double q) {
  const LateGrowth& late = *site.late;
  if (!late.growing.empty() && site.all.bytes > 0) return Open::kChunks;
  const bool may_grow =
      site.seen_p_value <= q || may_be_lasting(site.all, q) || may_be_lasting(site.old, q);
  if (!may_grow) return Open::kNothing;
  return late.by == LateGrowth::By::kChunks ? Open::kTurnover : Open::kUnmeasured;
}

Open open_of(const LeakSite& site, double q) {
  if (site.late && site.is_tested && site.p_value > q) return late_open_of(site, q);
  if (!site.is_tested) return site.all.bytes > 0 ? Open::kSamples : Open::kNothing;
  if (site.p_value <= q) return Open::kAlone;
  const bool may_slow = may_be_lasting(site.all, q) || may_be_lasting(site.old, q);
  return may_slow ? Open::kSlowing : Open::kNothing;
}

void decide(LeakSite& site, double q, double all_live) {
  if (site.is_tested && site.q_value <= q) {
    site.verdict = LeakVerdict::kSuspect;
    return;
  }
  const bool is_worth_it = site.alive.all_bytes() >= kWorthDeciding * all_live;
  site.open = is_worth_it ? open_of(site, q) : Open::kNothing;
  site.verdict = site.open == Open::kNothing ? LeakVerdict::kClear : LeakVerdict::kUndecided;
}

void sort_sites(std::vector<LeakSite>& sites) {
  const auto size_of = [](const LeakSite& site) {
    return site.verdict == LeakVerdict::kClear ? site.alive.all_bytes() : site.all.bytes;
  };
  std::ranges::sort(sites, [&](const LeakSite& a, const LeakSite& b) {
    if (a.verdict != b.verdict) return a.verdict < b.verdict;
    if (size_of(a) != size_of(b)) return size_of(a) > size_of(b);
    return std::tie(a.group.name, a.group.detail, a.group.stack) <
           std::tie(b.group.name, b.group.detail, b.group.stack);
  });
}

/// Those that are accused first, then by growth.
void sort_owners(Leaks& leaks) {
  std::vector<std::uint32_t> order(leaks.owners.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const LeakSite &left = leaks.owners[a].whole, &right = leaks.owners[b].whole;
    if (left.verdict != right.verdict) return left.verdict < right.verdict;
    return left.all.bytes > right.all.bytes;
  });
  std::vector<LeakOwner> sorted;
  std::vector<std::uint32_t> places(order.size());
  for (const std::uint32_t owner : order) {
    places[owner] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(leaks.owners[owner]));
  }
  leaks.owners = std::move(sorted);
  for (LeakSite& site : leaks.sites) {
    if (site.owner != kNone) site.owner = places[site.owner];
  }
}

bool is_any_alive(const Recording& recording, std::span<const std::uint32_t> samples) {
  return std::ranges::any_of(
      samples, [&](std::uint32_t index) { return recording.samples[index].free_time == 0; });
}

/// Sites are put together by how many samples they have, not by what became of these: else the
/// whole would have been chosen by its outcome.
class SmallSites {
 public:
  void add(const LifetimeGroup& group) {
    all_.samples.insert(all_.samples.end(), group.samples.begin(), group.samples.end());
  }

  [[nodiscard]] std::optional<LeakSite> judge(const Judge& judge, double q) {
    std::ranges::sort(all_.samples);
    const Follower& seen = judge.seen();
    if (!seen.could_be_significant(seen.samples_of(all_.samples))) return std::nullopt;
    const Flows flows = seen.flows_of(all_.samples);
    LeakSite site = judge.judge(std::move(all_), flows);
    site.q_value = site.p_value;
    site.verdict = site.p_value <= q ? LeakVerdict::kSuspect : LeakVerdict::kClear;
    return site;
  }

 private:
  LifetimeGroup all_;
};

/// Finds the functions that own what several sites keep.
class OwnerSearch {
 public:
  OwnerSearch(const Recording& recording, const Judge& judge, double q)
      : recording_(recording), judge_(judge), q_(q), shown_(recording) {}

  /// `site`: its place among Leaks::sites; kNone: none of it is left.
  void add(std::vector<std::uint32_t> samples, Flows flows, std::uint32_t site) {
    functions_.push_back(own_functions_of(shown_, recording_.samples[samples.front()].stack));
    const std::uint64_t count = judge_.seen().samples_of(samples);
    members_.push_back({std::move(samples), std::move(flows), count, site});
  }

  /// Of judged sites, in the order in which they were added.
  void find(Leaks& leaks) {
    const std::vector<OwnerGroup> groups = owner_groups(functions_);
    std::vector<OwnedSite> sites;
    std::vector<bool> is_away;  // Suspects, and where too little is seen for a test.
    for (const Member& member : members_) {
      const LeakSite* site = member.site == kNone ? nullptr : &leaks.sites[member.site];
      sites.push_back(evidence_of(member, site));
      is_away.push_back(sites.back().is_accused || (site != nullptr && site->late));
    }
    const std::vector<GrowingGroup> growing = growing_groups(
        groups, is_away, [&](auto rest) { return p_of(rest); }, q_);
    for (const GrowingGroup& group : growing) accuse(group, sites);
    const auto tested = std::ranges::count_if(
        groups, [&](const OwnerGroup& group) { return can_be_tested(group.sites); });
    name_owners(groups, sites, [&](const OwnerGroup& group, const OwnedSites& accused) {
      LeakOwner owner = owner_of(group.function, group.sites, accused);
      const auto rank = static_cast<double>(leaks.owners.size() + 1);
      if (owner.whole.p_value * static_cast<double>(tested) > q_ * rank) return false;
      owner.whole.verdict = LeakVerdict::kSuspect;
      take(leaks, std::move(owner), group.sites, accused);
      return true;
    });
    std::vector<double> p;
    for (const LeakOwner& owner : leaks.owners) p.push_back(owner.whole.p_value);
    const std::vector<double> q = adjusted(std::move(p), static_cast<std::size_t>(tested));
    for (std::size_t i = 0; i < leaks.owners.size(); ++i) leaks.owners[i].whole.q_value = q[i];
    for (const GrowingGroup& group : growing) add_open(leaks, group);
  }

 private:
  struct Member {
    std::vector<std::uint32_t> samples;
    Flows flows;
    std::uint64_t count = 0;  ///< Of samples, as they decide whether it can be tested.
    std::uint32_t site = kNone;
    bool is_taken = false;  ///< An owner has it.
  };

  static OwnedSite evidence_of(const Member& member, const LeakSite* site) {
    const Flow& flow = member.flows.all;
    return {.samples = static_cast<double>(member.count),
            .kept = static_cast<double>(flow.gains) - static_cast<double>(flow.losses),
            .bytes = flow.gained.all_bytes() - flow.lost.all_bytes(),
            .is_accused = site != nullptr && site->verdict == LeakVerdict::kSuspect};
  }

  [[nodiscard]] bool can_be_tested(std::span<const std::uint32_t> sites) const {
    std::uint64_t samples = 0;
    for (const std::uint32_t site : sites) samples += members_[site].count;
    return judge_.seen().could_be_significant(samples);
  }

  [[nodiscard]] std::optional<double> p_of(std::span<const std::uint32_t> sites) const {
    if (!can_be_tested(sites)) return std::nullopt;
    Flows flows;
    for (const std::uint32_t site : sites) flows.merge(members_[site].flows);
    return judge_.seen().p_of(flows);
  }

  /// What is below a function, without what other owners have, as one.
  [[nodiscard]] LeakOwner owner_of(std::uint32_t function, const OwnedSites& sites,
                                   const OwnedSites& accused) {
    LeakOwner owner;
    owner.function = function;
    LifetimeGroup all;
    Flows flows;
    for (const std::uint32_t index : sites) {
      const Member& member = members_[index];
      if (member.is_taken) continue;
      owner.sites += member.site != kNone;
      flows.merge(member.flows);
      all.samples.insert(all.samples.end(), member.samples.begin(), member.samples.end());
    }
    std::ranges::sort(all.samples);
    describe(all, function, accused);
    owner.whole = judge_.judge(std::move(all), flows);
    return owner;
  }

  void describe(LifetimeGroup& group, std::uint32_t function, const OwnedSites& accused) {
    group.name = shown_.labels()[function].name;
    LinesOfGroups lines(recording_);
    double most = 0;
    for (const std::uint32_t index : accused) {
      const Member& member = members_[index];
      const double bytes = member.flows.all.gained.all_bytes();
      const std::uint32_t stack = recording_.samples[member.samples.front()].stack;
      shown_.of(stack);
      const auto at = std::ranges::find(shown_.path(), function) - shown_.path().begin();
      lines.add(function, shown_.frames()[static_cast<std::size_t>(at)], bytes);
      if (group.stack == kNone || bytes > most) group.stack = stack;
      most = std::max(most, bytes);
    }
    group.where = lines.heaviest(function);
  }

  /// Of a group that grows, and below whose function nothing is accused: which of its sites grow is
  /// not known.
  void add_open(Leaks& leaks, const GrowingGroup& group) {
    bool is_explained = false;
    for (std::size_t i = 0; i < members_.size() && !is_explained; ++i) {
      if (members_[i].site == kNone) continue;
      const LeakSite& site = leaks.sites[members_[i].site];
      const bool is_accused = site.verdict == LeakVerdict::kSuspect || site.owner != kNone;
      is_explained =
          is_accused && std::ranges::find(functions_[i], group.function) != functions_[i].end();
    }
    if (is_explained) return;
    LeakOwner owner = owner_of(group.function, group.sites, group.sites);
    owner.whole.verdict = LeakVerdict::kUndecided;
    owner.whole.open = Open::kAlone;
    take(leaks, std::move(owner), group.sites, {});
  }

  void take(Leaks& leaks, LeakOwner owner, const OwnedSites& sites, const OwnedSites& accused) {
    owner.accused = accused.size();
    for (const std::uint32_t index : sites) members_[index].is_taken = true;
    for (const std::uint32_t index : accused) {
      leaks.sites[members_[index].site].owner = static_cast<std::uint32_t>(leaks.owners.size());
    }
    leaks.owners.push_back(std::move(owner));
  }

  const Recording& recording_;
  const Judge& judge_;
  double q_;
  ShownPath shown_;
  std::vector<Member> members_;
  std::vector<std::vector<std::uint32_t>> functions_;  ///< Of own code, by member, nearest first.
};

/// At most this many bytes are at a site without samples.
double unseen_limit(const Recording& recording, double level) {
  NodeSums nothing;
  nothing.could_have_sampled(largest_interval_of_fates(recording));
  return estimation::estimate_bytes(nothing, level).interval.hi;
}

/// Upper limit of the live bytes that `keeps` cannot decide about.
double open_limit(const Recording& recording, const LeakOptions& options) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; options.keeps && i < recording.samples.size(); ++i) {
    const Sample& sample = recording.samples[i];
    const bool is_live = sample.free_time == 0 && !sample.is_thinned_out;
    if (is_live && options.keeps(sample) == Answer::kOpen) open.push_back(i);
  }
  const NodeSums sums = sums_of_samples(recording, open);
  return open.empty() ? 0 : estimation::estimate_bytes(sums, options.level).interval.hi;
}

}  // namespace

bool Leaks::can_be_clear() const { return may_have_leaked <= kMostUnnoticed * live; }

Leaks find_leaks(const Recording& recording, const LeakOptions& options) {
  GEIGER_CHECK(options.by == LifetimeGrouping::kStack || options.by == LifetimeGrouping::kFunction);
  Leaks leaks;
  leaks.samples_needed = samples_needed(options.q);
  const SearchedSamples searched(recording, options.suppressions, options.keeps);
  leaks.suppressed = searched.suppressed(recording);
  LifetimeSelection selection;
  selection.with_unseen_allocations = true;
  selection.keeps = [&](const Sample& sample) { return searched.is_searched(sample); };
  selection.joins_recursion = true;
  selection.describes = [&](auto samples) { return is_any_alive(recording, samples); };
  const Judge judge(recording, options);
  std::size_t gone = 0;
  SmallSites small;
  OwnerSearch owners(recording, judge, options.q);
  for (LifetimeGroup& group : lifetime_groups(recording, options.by, selection)) {
    const Follower& seen = judge.seen();
    const bool is_tested = seen.could_be_significant(seen.samples_of(group.samples));
    if (!is_tested) small.add(group);
    Flows flows = seen.flows_of(group.samples);
    std::uint32_t site = kNone;
    std::vector<std::uint32_t> samples = group.samples;
    if (is_any_alive(recording, samples)) {
      site = static_cast<std::uint32_t>(leaks.sites.size());
      leaks.sites.push_back(judge.judge(std::move(group), flows));
      leaks.live += leaks.sites.back().alive.all_bytes();
    } else {
      gone += is_tested;
    }
    owners.add(std::move(samples), std::move(flows), site);
  }
  adjust(leaks, gone);
  leaks.small = small.judge(judge, options.q);
  leaks.unseen = unseen_limit(recording, options.level);
  leaks.may_have_leaked = leaks.unseen + open_limit(recording, options);
  for (LeakSite& site : leaks.sites) {
    decide(site, options.q, leaks.live);
    if (site.verdict != LeakVerdict::kClear) continue;
    leaks.may_have_leaked = std::max(leaks.may_have_leaked, site.most_leaked());
    const double bytes = site.alive.all_bytes();
    const bool is_large = site.is_tested && bytes >= kLarge * leaks.live;
    if (is_large && site.most_leaked() <= kMostUnnoticed * bytes)
      site.stopped = judge.seen().stopped_at(site.group.samples);
  }
  if (options.by == LifetimeGrouping::kStack) owners.find(leaks);
  sort_owners(leaks);
  sort_sites(leaks.sites);
  leaks.growing = judge.growing_chunks();
  std::erase_if(leaks.growing, [&](const GrowingChunks& chunks) {
    return std::ranges::any_of(leaks.sites, [&](const LeakSite& site) {
      const bool is_owned = site.owner != kNone;
      const LeakSite& judged = is_owned ? leaks.owners[site.owner].whole : site;
      return judged.verdict == LeakVerdict::kSuspect && site.has_growing(chunks.chunk);
    });
  });
  return leaks;
}

AccusedStacks accused_stacks(const Recording& recording) {
  const std::vector<Nanoseconds> until = judged_before(find_teardowns(recording));
  LeakOptions options;
  options.ran_until = ran_until(recording, until);
  Recording judged = recording;
  cut_at(judged, until);
  const Leaks leaks = find_leaks(judged, options);
  AccusedStacks accused;
  for (const LeakSite& site : leaks.sites) {
    if (site.verdict != LeakVerdict::kSuspect && site.owner == kNone) continue;
    const bool is_owned = site.owner != kNone;
    for (const std::uint32_t sample : site.group.samples) {
      accused[judged.samples[sample].stack] =
          is_owned ? leaks.owners[site.owner].whole.group.name : "";
    }
  }
  return accused;
}

}  // namespace geiger::profile
