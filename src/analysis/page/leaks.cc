#include "analysis/page/leaks.h"

#include "analysis/profile/profile.h"
#include "analysis/report/lives/leaks.h"
#include "analysis/report/lives/leaks_sentences.h"

namespace geiger::page {
namespace {

/// Sites that a page lists.
constexpr std::size_t kMostSites = 50;

LeakSite site_of(const report::LeakLine& line, Gathering& gathering) {
  const profile::LeakSite& site = line.site;
  return {.node = gathering.node_of(site.group.stack),
          .verdict = std::string(report::name_of(site.verdict)),
          .live = line.live.bytes,
          .samples = line.live.samples,
          .never_freed = line.never_freed.value,
          .never_freed_limits = line.never_freed.interval,
          .rate = line.rate.value,
          .rate_limits = line.rate.interval,
          .since = line.since,
          .oldest = site.oldest,
          .old_from = site.old_from,
          .p = site.p_value,
          .q = site.q_value,
          .open = std::string(report::name_of(site.open)),
          .kept = site.kept,
          .growth_limit = report::growth_limit(line),
          .in_use = site.late ? report::in_use_text(*site.late) : ""};
}

}  // namespace

std::optional<Leaks> leaks_of(const profile::Recording& recording, const PageOptions& options,
                              Gathering& gathering) {
  const bool is_whole =
      !options.selection.is_part() && options.selection.heap == profile::kProcessHeap;
  if (!is_whole || options.is_followed || !recording.tallies.empty()) return std::nullopt;
  report::LeaksOptions wanted;
  wanted.search.level = options.level;
  wanted.top = kMostSites;
  const report::LeaksReport report = report::leaks_report(recording, wanted);
  if (report.suspects + report.undecided + report.clear == 0) return std::nullopt;
  Leaks out;
  out.finding = report::name_of(report.finding());
  out.why = report::name_of(report.judged.why);
  out.after_start = report.judged.after_start;
  out.before_end = report.judged.before_end;
  out.slow_frees_from = report.judged.freed_from;
  out.missing = report.missing;
  if (!report.growing.empty()) out.growing = report::growing_text(report.growing.front());
  if (!report.can_be_clear) out.may_have_leaked = report.may_have_leaked;
  out.live = report.live.bytes;
  out.live_at_end = report.live_at_end.bytes;
  out.suspects = report.suspects;
  out.undecided = report.undecided;
  out.tested = report.tested;
  out.samples_needed = report.samples_needed;
  out.q = wanted.search.q;
  for (const report::LeakLine& line : report.lines) out.sites.push_back(site_of(line, gathering));
  return out;
}

void renumber(Leaks& leaks, std::span<const std::uint32_t> moved) {
  for (LeakSite& site : leaks.sites) site.node = moved[site.node];
}

}  // namespace geiger::page
