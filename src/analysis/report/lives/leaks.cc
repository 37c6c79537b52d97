#include "analysis/report/lives/leaks.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/present/function_names.h"
#include "analysis/present/heading.h"
#include "analysis/present/measure.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/frame_roles.h"
#include "analysis/profile/lives/leaks.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/recording/cut.h"
#include "analysis/profile/select/gaps.h"
#include "analysis/profile/select/totals.h"

namespace geiger::report {

namespace {

using profile::kItsEnd;
using profile::LeakSite;
using profile::LeakVerdict;
using profile::Recording;
using profile::Teardown;

/// Growth in less than this time, and less than that share of the recording, says nothing of a
/// rate.
constexpr double kLeastSeconds = 0.1, kLeastShare = 0.1;

GrowthRate rate_of(const LeakSite& site) {
  if (!(site.seconds > 0)) return {};
  const profile::LeakGrowth& growth = site.all;
  return {growth.bytes / site.seconds,
          {growth.interval.lo / site.seconds, growth.interval.hi / site.seconds}};
}

/// Makes lines of sites.
class Lines {
 public:
  /// `unseen`: upper limit of the bytes of a site without samples.
  /// `whole`: before it was cut.
  Lines(const Recording& recording, const Recording& whole, const LeaksOptions& options,
        double unseen)
      : recording_(recording),
        whole_(whole),
        shown_(recording),
        level_(options.search.level),
        judged_share_(1 - options.search.warm_up),
        unseen_(unseen),
        live_(present::all_live(whole)),
        ran_(static_cast<double>(profile::duration_of(recording)) / 1e9) {}

  /// How long the processes of a site that is not a suspect were seen, if that is too short for a
  /// rate; else 0.
  [[nodiscard]] Nanoseconds too_short(const LeakSite& site) const {
    const double lived = site.seconds / judged_share_;
    const bool is_short = site.seconds < kLeastSeconds && lived < kLeastShare * ran_;
    return is_short && site.verdict != LeakVerdict::kSuspect ? static_cast<Nanoseconds>(lived * 1e9)
                                                             : 0;
  }

  [[nodiscard]] present::Measure measure_row(const estimation::NodeSums& live) const {
    return live_.measure_row(live, level_);
  }

  [[nodiscard]] LeakLine line_of(LeakSite site) {
    LeakLine line;
    line.live = measure_row(site.alive);
    line.never_freed = present::share_of(site.alive, site.allocated, level_);
    line.rate = rate_of(site);
    line.too_short = too_short(site);
    if (site.seconds > 0) line.most_growth = std::max(site.most_leaked(), unseen_) / site.seconds;
    const Nanoseconds start = profile::start_of(recording_);
    line.since = site.judged_from - std::min(site.judged_from, start);
    line.stopped = site.stopped - std::min(site.stopped, start);
    line.held =
        held_parts(recording_, whole_, live_, shown_, live_among(site.group.samples), level_);
    describe(line, site.group);
    line.site = std::move(site);
    return line;
  }

  [[nodiscard]] OwnerLine line_of(profile::LeakOwner owner) {
    OwnerLine line{line_of(std::move(owner.whole)), owner.sites, owner.accused};
    // Down to the function, wherever it recurs.
    const std::vector<std::uint32_t>& path = shown_.path();
    const auto at = std::ranges::find(path, owner.function) - path.begin();
    line.line.path.resize(path.size() - static_cast<std::size_t>(at));
    line.line.path_places.resize(line.line.path.size());
    return line;
  }

 private:
  [[nodiscard]] std::vector<std::uint32_t> live_among(
      const std::vector<std::uint32_t>& samples) const {
    std::vector<std::uint32_t> live;
    std::ranges::copy_if(samples, std::back_inserter(live),
                         [&](std::uint32_t i) { return recording_.samples[i].free_time == 0; });
    return live;
  }

  void describe(LeakLine& line, const profile::LifetimeGroup& group) {
    line.where = text_of(group.where);
    if (group.stack >= recording_.stacks.size()) return;
    shown_.of(group.stack);
    const std::vector<std::uint32_t>& path = shown_.path();
    for (std::size_t i = path.size(); i-- > 0;) {
      line.path.push_back(shown_.labels()[path[i]].name);
      line.path_places.push_back(text_of(source_line_of(recording_, shown_.frames()[i])));
    }
  }

  const Recording& recording_;
  const Recording& whole_;
  profile::ShownPath shown_;
  double level_, judged_share_, unseen_;
  present::WholeSums live_;
  double ran_;
};

void count(LeaksReport& report, LeakVerdict verdict) {
  switch (verdict) {
    case LeakVerdict::kSuspect:
      ++report.suspects;
      return;
    case LeakVerdict::kUndecided:
      ++report.undecided;
      return;
    case LeakVerdict::kClear:
      ++report.clear;
      return;
  }
}

present::Measure all_live(const Recording& recording, const profile::LeakOptions& search,
                          profile::Kind kind = profile::Kind::kLiveAtEnd) {
  profile::Selection selection;
  selection.kind = kind;
  selection.at_own_ends = true;  // Where each process is judged.
  selection.keeps = search.keeps;
  profile::Profile live = profile::select(recording, selection);
  if (search.suppressions != nullptr && !search.suppressions->is_empty()) {
    std::unordered_map<std::uint32_t, bool> known;  // By stack.
    const auto is_suppressed = [&](const profile::Entry& entry) {
      const auto [at, is_new] = known.try_emplace(entry.stack);
      if (is_new) {
        at->second = search.suppressions->match(recording, entry.stack) != profile::kNone;
      }
      return at->second;
    };
    std::erase_if(live.entries, is_suppressed);
    std::erase_if(live.open, is_suppressed);
  }
  return present::measure_total(recording, live, search.level);
}

/// Where each process is judged, and what of that is worth saying.
struct Judged {
  JudgedInstant instant;
  std::vector<Nanoseconds> until;  ///< By process, CLOCK_MONOTONIC; kItsEnd: its end.
};

/// Since the start, when the final frees of a large process began that `is_hiding` accepts.
template <typename IsHiding>
std::optional<Nanoseconds> freed_from(const Recording& recording,
                                      const std::vector<Teardown>& teardowns,
                                      const IsHiding& is_hiding) {
  const Teardown* const largest = profile::largest_of(teardowns);
  std::optional<Nanoseconds> from;
  for (const Teardown& teardown : teardowns) {
    const bool is_large = teardown.live >= largest->live / 2;
    if (!is_large || teardown.kind == Teardown::Kind::kNotFound || !is_hiding(teardown)) continue;
    const Nanoseconds after_start = teardown.from - profile::start_of(recording);
    from = from ? std::min(*from, after_start) : after_start;
  }
  return from;
}

Judged judged_at(const Recording& recording, const GivenInstant& given,
                 const std::vector<Teardown>& teardowns) {
  Judged judged;
  const Nanoseconds start = profile::start_of(recording);
  const Nanoseconds end = start + profile::duration_of(recording);
  judged.instant.why = JudgedInstant::Why::kGiven;
  judged.until.resize(recording.processes.size(), given.is_end ? kItsEnd : given.time + 1);
  const Nanoseconds at = given.is_end ? end : given.time;
  judged.instant.after_start = at - std::min(at, start);
  judged.instant.before_end = end - std::min(end, at);
  judged.instant.freed_from = freed_from(
      recording, teardowns, [&](const Teardown& teardown) { return teardown.from <= at; });
  return judged;
}

Judged judged_before_teardown(const Recording& recording, const std::vector<Teardown>& teardowns) {
  Judged judged;
  judged.until = profile::judged_before(teardowns);
  judged.instant.processes =
      static_cast<std::size_t>(std::ranges::count_if(teardowns, &Teardown::is_found));
  const Teardown* largest = profile::largest_of(teardowns);
  judged.instant.after_start = profile::duration_of(recording);
  if (largest == nullptr) return judged;
  judged.instant.freed_from = freed_from(
      recording, teardowns, [](const Teardown& teardown) { return !teardown.is_found(); });
  if (!largest->is_found()) return judged;
  judged.instant.why = largest->kind == Teardown::Kind::kFinalization
                           ? JudgedInstant::Why::kBeforeFinalization
                           : JudgedInstant::Why::kBeforeTeardown;
  judged.instant.after_start = largest->from - profile::start_of(recording);
  judged.instant.before_end = largest->end - largest->from;
  return judged;
}

/// Of what is searched.
std::vector<HeldSite> unreachable_sites(const Recording& recording, const LeaksOptions& options) {
  HoldersOptions wanted;
  wanted.top = 0;
  wanted.level = options.search.level;
  wanted.keeps = options.search.keeps;
  wanted.suppressions = options.search.suppressions;
  auto report = holders_report(recording, wanted);
  std::vector<HeldSite> found;
  if (!report.has_value()) return found;
  for (HeldSite& site : report->sites) {
    std::erase_if(site.parts, [](const HeldPart& part) {
      return !profile::is_unreachable(part.hold) || part.live.bytes.interval.lo <= 0;
    });
    if (!site.parts.empty()) found.push_back(std::move(site));
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, [](const HeldSite& site) {
    return site.parts.front().live.bytes.value;
  });
  return found;
}

/// Of what is searched.
class LostSamples {
 public:
  LostSamples(const Recording& recording, const LeaksOptions& options)
      : recording_(recording),
        live_(present::all_live(recording)),
        searched_(recording, options.search.suppressions, options.search.keeps),
        level_(options.search.level) {}

  /// Of all sites but these.
  [[nodiscard]] UnreachableRest unreachable_beside(std::span<const HeldSite> named) const {
    estimation::NodeSums sums;
    std::set<std::pair<std::string, std::string>> sites;
    for (const profile::Hold hold : {profile::Hold::kUnreferenced, profile::Hold::kUnreachable}) {
      for (const profile::LifetimeGroup& group : groups_of(hold)) {
        const bool is_named = std::ranges::any_of(named, [&](const HeldSite& site) {
          return site.name == group.name && site.detail == group.detail;
        });
        if (is_named) continue;
        sums.merge(profile::sums_of_samples(recording_, group.samples));
        sites.emplace(group.name, group.detail);
      }
    }
    return {sites.size(), live_.measure_part(sums, level_)};
  }

  [[nodiscard]] present::Measure listed() const {
    estimation::NodeSums sums;
    for (const profile::LifetimeGroup& group : groups_of(profile::Hold::kListed)) {
      sums.merge(profile::sums_of_samples(recording_, group.samples));
    }
    return live_.measure_part(sums, level_);
  }

 private:
  [[nodiscard]] std::vector<profile::LifetimeGroup> groups_of(profile::Hold hold) const {
    profile::LifetimeSelection selection;
    selection.with_unseen_allocations = true;
    selection.keeps = [this, hold](const profile::Sample& sample) {
      return profile::Answer(sample.holder != profile::kNone &&
                             recording_.holders[sample.holder].hold == hold &&
                             searched_.is_searched(sample));
    };
    return profile::lifetime_groups(recording_, profile::LifetimeGrouping::kFunction, selection);
  }

  const Recording& recording_;
  present::WholeSums live_;
  profile::SearchedSamples searched_;
  double level_;
};

/// `whole`: before it was cut.
void list(LeaksReport& report, profile::Leaks&& leaks, const Recording& recording,
          const Recording& whole) {
  const LeaksOptions& options = report.options;
  Lines lines(recording, whole, options, leaks.unseen);
  report.unreachable = unreachable_sites(whole, options);
  if (!whole.holders.empty()) {
    const LostSamples lost(whole, options);
    const std::size_t named = std::min(report.unreachable.size(), kUnreachableNamed);
    report.unreachable_rest = lost.unreachable_beside(std::span(report.unreachable).first(named));
    report.listed = lost.listed();
  }
  report.tested = report.judged_sites = leaks.tested;
  report.samples_needed = leaks.samples_needed;
  report.may_have_leaked = leaks.may_have_leaked;
  report.can_be_clear = leaks.can_be_clear();
  report.growing = std::move(leaks.growing);
  for (const profile::Observations& observations : recording.observations) {
    if (report.walk_fault.empty()) report.walk_fault = observations.walk_fault;
  }
  for (const profile::SuppressedLeaks& suppressed : leaks.suppressed) {
    report.suppressed.push_back({options.search.suppressions->pattern(suppressed.pattern),
                                 lines.measure_row(suppressed.live)});
  }
  const std::size_t room = options.top == 0 ? SIZE_MAX : options.top;
  for (profile::LeakOwner& owner : leaks.owners) {
    if (report.owners.size() < room) report.owners.push_back(lines.line_of(std::move(owner)));
  }
  // An undecided owner is a sentence, not a row.
  auto shown = static_cast<std::size_t>(
      std::ranges::count(report.owners, LeakVerdict::kSuspect,
                         [](const OwnerLine& owner) { return owner.line.site.verdict; }));
  for (LeakSite& site : leaks.sites) {
    const bool is_short = site.verdict == LeakVerdict::kClear && lines.too_short(site) > 0;
    // What an accused owner explains is a suspect, whatever it is alone.
    if (site.owner != profile::kNone) {
      ++report.suspects;
      report.judged_sites += !site.is_tested;
    } else if (is_short) {
      ++report.not_judged;
    } else {
      count(report, site.verdict);
    }
    if (site.verdict == LeakVerdict::kClear && site.seconds > 0 && !is_short) {
      report.may_grow = std::max(report.may_grow, site.most_leaked() / site.seconds);
    }
    if (site.stopped != 0) report.stopped.push_back(lines.line_of(site));
    const bool is_owned = site.owner < report.owners.size();
    const bool is_listed = site.verdict != LeakVerdict::kClear || options.shows_all;
    if (!is_owned && (!is_listed || shown == room)) continue;
    shown += is_owned ? 0 : 1;
    report.lines.push_back(lines.line_of(std::move(site)));
  }
  std::ranges::stable_sort(report.stopped, std::ranges::greater{},
                           [](const LeakLine& line) { return line.live.bytes.value; });
  const bool is_growing = leaks.small && leaks.small->verdict == LeakVerdict::kSuspect;
  if (is_growing) report.small = lines.line_of(*std::move(leaks.small));
}

std::string missing_samples(const Recording& recording) {
  for (const profile::Gap& gap : profile::gaps_of(recording)) {
    if (gap.hides_growth()) return gap.why;
  }
  return "";
}

LeaksReport report_of(const Recording& recording, const Recording& whole,
                      const LeaksOptions& options, const JudgedInstant& judged) {
  LeaksReport report;
  report.options = options;
  report.absent = present::absent_modules(recording);
  report.judged = judged;
  report.live = all_live(recording, options.search);
  list(report, profile::find_leaks(recording, options.search), recording, whole);
  return report;
}

}  // namespace

LeakFinding LeaksReport::finding() const {
  if (suspects > 0 || !unreachable.empty()) return LeakFinding::kSuspects;
  const bool is_hidden = !owners.empty() || small.has_value() || judged.freed_from.has_value() ||
                         !missing.empty() || !growing.empty() || !can_be_clear;
  if (undecided > 0 || tested == 0 || is_hidden) return LeakFinding::kUndecided;
  return LeakFinding::kClear;
}

std::vector<const LeakLine*> LeaksReport::accused() const {
  std::vector<const LeakLine*> all;
  const auto add = [&](const LeakLine& line) {
    if (line.site.verdict == LeakVerdict::kSuspect) all.push_back(&line);
  };
  for (const OwnerLine& owner : owners) add(owner.line);
  for (const LeakLine& line : lines) {
    if (line.site.owner == profile::kNone) add(line);
  }
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const LeakLine* line) { return line->site.all.bytes; });
  return all;
}

const OwnerLine* LeaksReport::owner_of(const LeakLine& line) const {
  const auto owner =
      std::ranges::find(owners, &line, [](const OwnerLine& each) { return &each.line; });
  return owner == owners.end() ? nullptr : &*owner;
}

/// Of processes that are judged up to their last sample.
std::optional<Nanoseconds> quiet_from(const Recording& recording,
                                      std::span<const Nanoseconds> ran_until) {
  constexpr Nanoseconds kLeast = 1'000'000'000, kLeastPart = 20;  // One in so many.
  if (recording.processes.size() != 1) return std::nullopt;
  const profile::Process& process = recording.processes.front();
  const profile::ActiveTime active = profile::active_times(recording, ran_until).front();
  const Nanoseconds least = std::max(kLeast, (process.end - active.from) / kLeastPart);
  if (active.to == 0 || active.to + least > process.end) return std::nullopt;
  return active.to - profile::start_of(recording);
}

LeaksReport leaks_report(const Recording& recording, const LeaksOptions& options) {
  std::vector<Teardown> own;
  if (options.teardowns == nullptr) own = profile::find_teardowns(recording);
  const std::vector<Teardown>& teardowns = options.teardowns ? *options.teardowns : own;
  const Judged judged = options.until ? judged_at(recording, *options.until, teardowns)
                                      : judged_before_teardown(recording, teardowns);
  LeaksOptions judging = options;
  judging.search.ran_until = ran_until(recording, judged.until);
  const bool is_cut = std::ranges::any_of(judged.until, [](auto at) { return at != kItsEnd; });
  LeaksReport report;
  if (is_cut) {
    Recording earlier = recording;
    cut_at(earlier, judged.until);
    report = report_of(earlier, recording, judging, judged.instant);
    report.live_at_end = all_live(recording, options.search);
  } else {
    report = report_of(recording, recording, judging, judged.instant);
    report.live_at_end = report.live;
    report.judged.quiet_from = quiet_from(recording, judging.search.ran_until);
  }
  // As other reports measure it: the instant was chosen by a part of the samples.
  if (options.until && options.until->is_peak)
    report.live = all_live(recording, options.search, profile::Kind::kLiveAtPeak);
  // Of the whole: what a cut left out is not missing.
  report.missing = missing_samples(recording);
  return report;
}

}  // namespace geiger::report
