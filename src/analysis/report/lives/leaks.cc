#include "analysis/report/lives/leaks.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analysis/present/measure.h"
#include "analysis/profile/cut.h"
#include "analysis/profile/frames/shown_path.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/memory/gaps.h"
#include "analysis/profile/totals.h"

namespace geiger::report {
namespace {

using profile::LeakSite;
using profile::LeakVerdict;
using profile::Recording;
using profile::Teardown;

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

GrowthRate rate_of(const LeakSite& site) {
  if (!(site.seconds > 0)) return {};
  const profile::LeakGrowth& growth = site.all;
  return {growth.bytes / site.seconds,
          {growth.interval.lo / site.seconds, growth.interval.hi / site.seconds}};
}

/// Makes lines of sites.
class Lines {
 public:
  Lines(const Recording& recording, double level)
      : recording_(recording), shown_(recording), level_(level) {}

  [[nodiscard]] LeakLine line_of(LeakSite site) {
    LeakLine line;
    line.live = present::measure_row(site.alive, level_);
    line.never_freed = present::share_of(site.alive, site.allocated, level_);
    line.rate = rate_of(site);
    const Nanoseconds start = profile::start_of(recording_);
    line.since = site.judged_from - std::min(site.judged_from, start);
    describe(line, site.group);
    line.site = std::move(site);
    return line;
  }

 private:
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
  profile::ShownPath shown_;
  double level_;
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
  const profile::Profile live = profile::select(recording, selection);
  return present::measure_total(recording, live, search.level);
}

/// Where each process is judged, and what of that is worth saying.
struct Judged {
  JudgedInstant instant;
  std::vector<Nanoseconds> until;  ///< By process, CLOCK_MONOTONIC; kNever: its end.
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
  judged.until.resize(recording.processes.size(), given.is_end ? kNever : given.time + 1);
  const Nanoseconds at = given.is_end ? end : given.time;
  judged.instant.after_start = at - std::min(at, start);
  judged.instant.before_end = end - std::min(end, at);
  judged.instant.freed_from = freed_from(
      recording, teardowns, [&](const Teardown& teardown) { return teardown.from <= at; });
  return judged;
}

Judged judged_before_teardown(const Recording& recording, const std::vector<Teardown>& teardowns) {
  Judged judged;
  for (const Teardown& teardown : teardowns) {
    judged.until.push_back(teardown.is_found() ? teardown.from : kNever);
    judged.instant.processes += teardown.is_found();
  }
  const Teardown* largest = profile::largest_of(teardowns);
  judged.instant.after_start = profile::duration_of(recording);
  if (largest == nullptr) return judged;
  judged.instant.freed_from = freed_from(
      recording, teardowns, [](const Teardown& teardown) { return !teardown.is_found(); });
  if (!largest->is_found()) return judged;
  judged.instant.why = JudgedInstant::Why::kBeforeTeardown;
  judged.instant.after_start = largest->from - profile::start_of(recording);
  judged.instant.before_end = largest->end - largest->from;
  return judged;
}

/// By process: instants within its time, so that it is known to have run until then.
std::vector<Nanoseconds> ran_until(const Recording& recording,
                                   const std::vector<Nanoseconds>& until) {
  std::vector<Nanoseconds> ran(until.size(), 0);
  for (std::size_t i = 0; i < until.size(); ++i) {
    if (until[i] < recording.processes[i].end) ran[i] = until[i];
  }
  return ran;
}

void list(LeaksReport& report, profile::Leaks&& leaks, const Recording& recording) {
  const LeaksOptions& options = report.options;
  Lines lines(recording, options.search.level);
  report.tested = leaks.tested;
  report.samples_needed = leaks.samples_needed;
  report.may_have_leaked = leaks.may_have_leaked;
  report.can_be_clear = leaks.can_be_clear();
  report.growing = std::move(leaks.growing);
  for (const profile::Observations& observations : recording.observations) {
    if (report.walk_fault.empty()) report.walk_fault = observations.walk_fault;
  }
  for (const profile::SuppressedLeaks& suppressed : leaks.suppressed) {
    report.suppressed.push_back({options.search.suppressions->pattern(suppressed.pattern),
                                 present::measure_row(suppressed.live, options.search.level)});
  }
  for (LeakSite& site : leaks.sites) {
    count(report, site.verdict);
    if (site.verdict == LeakVerdict::kClear && site.seconds > 0) {
      report.may_grow = std::max(report.may_grow, site.most_leaked() / site.seconds);
    }
    const bool is_listed = site.verdict != LeakVerdict::kClear || options.shows_all;
    const bool has_room = options.top == 0 || report.lines.size() < options.top;
    if (is_listed && has_room) report.lines.push_back(lines.line_of(std::move(site)));
  }
  const bool is_growing = leaks.small && leaks.small->verdict == LeakVerdict::kSuspect;
  if (is_growing) report.small = lines.line_of(*std::move(leaks.small));
}

std::string missing_samples(const Recording& recording) {
  for (const profile::Gap& gap : profile::gaps_of(recording)) {
    if (gap.hides_growth()) return gap.why;
  }
  return "";
}

LeaksReport report_of(const Recording& recording, const LeaksOptions& options,
                      const JudgedInstant& judged) {
  LeaksReport report;
  report.options = options;
  report.judged = judged;
  report.live = all_live(recording, options.search);
  list(report, profile::find_leaks(recording, options.search), recording);
  return report;
}

}  // namespace

LeakFinding LeaksReport::finding() const {
  if (suspects > 0) return LeakFinding::kSuspects;
  const bool is_hidden = small.has_value() || judged.freed_from.has_value() || !missing.empty() ||
                         !growing.empty() || !can_be_clear;
  if (undecided > 0 || tested == 0 || is_hidden) return LeakFinding::kUndecided;
  return LeakFinding::kClear;
}

LeaksReport leaks_report(const Recording& recording, const LeaksOptions& options) {
  std::vector<Teardown> own;
  if (options.teardowns == nullptr) own = profile::find_teardowns(recording);
  const std::vector<Teardown>& teardowns = options.teardowns ? *options.teardowns : own;
  const Judged judged = options.until ? judged_at(recording, *options.until, teardowns)
                                      : judged_before_teardown(recording, teardowns);
  LeaksOptions judging = options;
  judging.search.ran_until = ran_until(recording, judged.until);
  const bool is_cut = std::ranges::any_of(judged.until, [](auto at) { return at != kNever; });
  LeaksReport report;
  if (is_cut) {
    Recording earlier = recording;
    cut_at(earlier, judged.until);
    report = report_of(earlier, judging, judged.instant);
    report.live_at_end = all_live(recording, options.search);
  } else {
    report = report_of(recording, judging, judged.instant);
    report.live_at_end = report.live;
  }
  // As other reports measure it: the instant was chosen by a part of the samples.
  if (options.until && options.until->is_peak)
    report.live = all_live(recording, options.search, profile::Kind::kLiveAtPeak);
  // Of the whole: what a cut left out is not missing.
  report.missing = missing_samples(recording);
  return report;
}

}  // namespace geiger::report
