#include "analysis/report/leaks.h"

#include <algorithm>

#include "analysis/report/share.h"

namespace geiger::report {
namespace {

using profile::LeakSite;
using profile::LeakVerdict;
using profile::Recording;

GrowthRate rate_of(const LeakSite& site) {
  if (!(site.seconds > 0)) return {};
  const profile::LeakGrowth& growth = site.all;
  return {growth.bytes / site.seconds,
          {growth.interval.lo / site.seconds, growth.interval.hi / site.seconds}};
}

LeakLine line_of(LeakSite site, double level) {
  LeakLine line;
  line.live = measure_row(site.sums.alive, level);
  line.never_freed = share_of(site.sums.alive, site.sums.allocated, level);
  line.rate = rate_of(site);
  line.site = std::move(site);
  return line;
}

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

Measure all_live(const Recording& recording, double level) {
  const profile::Profile live = profile::select(recording, profile::Kind::kLiveAtEnd);
  return measure_total(profile::total(recording, live), level);
}

}  // namespace

LeaksReport leaks_report(const Recording& recording, const LeaksOptions& options) {
  const double level = options.search.level;
  profile::Leaks leaks = profile::find_leaks(recording, options.search);
  LeaksReport report;
  report.options = options;
  report.live = all_live(recording, level);
  report.tested = leaks.tested;
  report.samples_needed = leaks.samples_needed;
  for (const profile::SuppressedLeaks& suppressed : leaks.suppressed) {
    report.suppressed.push_back({options.search.suppressions->pattern(suppressed.pattern),
                                 measure_row(suppressed.live, level)});
  }
  for (LeakSite& site : leaks.sites) {
    count(report, site.verdict);
    const bool is_listed = site.verdict == LeakVerdict::kSuspect || options.shows_all;
    const bool has_room = options.top == 0 || report.lines.size() < options.top;
    if (is_listed && has_room) report.lines.push_back(line_of(std::move(site), level));
  }
  return report;
}

std::string_view name_of(LeakVerdict verdict) {
  switch (verdict) {
    case LeakVerdict::kSuspect:
      return "suspect";
    case LeakVerdict::kUndecided:
      return "undecided";
    case LeakVerdict::kClear:
      return "clear";
  }
  return "";
}

}  // namespace geiger::report
