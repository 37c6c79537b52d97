#include "analysis/report/overview/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "analysis/naming/display_name.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/peak.h"
#include "analysis/report/faults/faults.h"
#include "analysis/report/lives/leaks.h"

namespace geiger::report {
namespace {

using profile::Kind;
using profile::Profile;
using profile::Recording;

/// Sums of the allocated profile, one set per process.
std::vector<estimation::NodeSums> sums_by_process(const Recording& recording,
                                                  const Profile& profile) {
  std::vector<estimation::NodeSums> sums(recording.processes.size());
  for (estimation::NodeSums& one : sums) one.could_have_sampled(profile.largest_interval);
  for (const profile::Entry& entry : profile.entries) {
    accumulate(sums[entry.process], entry, recording, profile);
  }
  return sums;
}

/// The process that started first comes first: it started the others.
void sort_by_start(std::vector<ProcessLine>& lines, const Recording& recording) {
  std::stable_sort(lines.begin(), lines.end(), [&](const ProcessLine& a, const ProcessLine& b) {
    return recording.processes[a.index].start < recording.processes[b.index].start;
  });
}

void add_processes(SummaryReport& report, const Recording& recording, const Profile& allocated) {
  const std::vector<profile::ProcessTotals> totals = profile::totals_of_each(recording);
  report.exact = profile::all_totals(recording, totals);
  report.drops = profile::drops_of(recording);
  if (!report.options.has_checks) return;
  const auto sums = sums_by_process(recording, allocated);
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    report.processes.push_back({i,
                                sums[i].samples + sums[i].certain_samples,
                                totals[i],
                                present::measure_total(sums[i], report.options.level),
                                {},
                                0});
  }
  sort_by_start(report.processes, recording);
}

/// After the start of the recording: when what a peak is of held most.
Nanoseconds time_of_peak(const Recording& recording, const Profile& peak) {
  if (peak.entries.empty() || peak.peak_times.empty()) return 0;
  const Nanoseconds start = profile::start_of(recording);
  return peak.peak_times.front() - std::min(start, peak.peak_times.front());
}

/// Of a heap alone; the peak of all is of their sum.
void add_own_peaks(SummaryReport& report, const Recording& recording) {
  if (!recording.tallies.empty() || recording.processes.size() < 2) return;
  for (ProcessLine& line : report.processes) {
    const Profile peak = profile::own_peak(recording, report.options.selection, line.index);
    line.own_peak = present::measure_total(recording, peak, report.options.level);
    line.own_peak_time = time_of_peak(recording, peak);
  }
}

/// How many samples `selection` chooses, certain ones, and with truncated stacks.
void count_samples(SummaryReport& report, const Recording& recording) {
  const auto& stacks = recording.stacks;
  const profile::Chosen chosen = profile::choose(recording, report.options.selection);
  report.samples = chosen.samples.size();
  report.stacks = stacks.size();
  std::set<std::uint32_t> met;
  const auto add = [&](const profile::Sample& sample, std::uint64_t count) {
    if (report.is_part()) met.insert(sample.stack);
    if (sample.is_certain) report.certain_samples += count;
    const bool is_known = sample.stack < stacks.size();
    if (is_known && stacks[sample.stack].is_truncated) report.truncated += count;
  };
  for (const profile::Sample* sample : chosen.samples) add(*sample, 1);
  for (const profile::Tally* tally : chosen.tallies) {
    const std::uint64_t count = count_of(*tally, report.options.selection.kind);
    report.samples += count;
    add(tally->alike, count);
  }
  if (report.is_part()) report.stacks = met.size();
}

MappedLine mapped_line(const Recording& recording) {
  MappedLine line;
  line.is_seen = !recording.mappings.empty() &&
                 !std::ranges::all_of(recording.processes, &profile::Process::misses_segments);
  if (!line.is_seen) return line;
  line.at_peak = static_cast<Bytes>(
      profile::total(recording, select(recording, Kind::kMappedAtPeak)).certain_bytes);
  for (std::uint32_t process = 0; process < recording.processes.size(); ++process) {
    if (recording.processes[process].misses_segments()) continue;
    const profile::MappedBytes at_end = profile::mapped_bytes_at(recording, process);
    line.at_end.memory += at_end.memory;
    line.at_end.reserved += at_end.reserved;
    line.at_end.files += at_end.files;
    line.misses_inherited |= recording.processes[process].is_fork_child;
  }
  return line;
}

std::vector<KindLine> further_kinds(const Recording& recording, double level) {
  std::vector<KindLine> lines;
  for (const Kind kind : {Kind::kLiveUsable, Kind::kLiveOverhead, Kind::kResident, Kind::kSwapped,
                          Kind::kUntouched, Kind::kStranded}) {
    profile::Selection selection;
    selection.kind = kind;
    if (!profile::check_kind(recording, kind, selection.moment).has_value()) continue;
    const present::Measure measure =
        present::measure_total(total(recording, select(recording, selection)), level);
    if (measure.samples == 0) continue;
    lines.push_back({kind, measure, present::asked_inside(recording, kind, selection.moment)});
  }
  return lines;
}

/// Rotated recordings count what segments that are gone held.
bool misses_any_total(const Recording& recording, const std::vector<ProcessLine>& lines) {
  return std::ranges::any_of(lines, [&](const ProcessLine& line) {
    const profile::Process& process = recording.processes[line.index];
    if (process.is_imported || process.misses_beginning() || process.has_gap()) return false;
    return profile::compare_with_exact(recording, line.index, line.exact).has_failed();
  });
}

LifetimeLine lifetimes_of_all(const Recording& recording, double level) {
  LifetimesOptions options;
  options.by = profile::LifetimeGrouping::kWhole;
  options.level = level;
  return lifetimes_report(recording, options).whole;
}

std::vector<TableLine> sites(const Recording& recording, const Profile& profile,
                             const SummaryOptions& options) {
  TableOptions table;
  table.top = options.sites;
  table.level = options.level;
  return table_report(recording, profile, table).lines;
}

ForkedLine forked_line(const Recording& recording) {
  ForkedLine line;
  Bytes largest = 0;
  for (const profile::Process& process : recording.processes)
    line.children += process.is_fork_child ? 1 : 0;
  for (const profile::Epoch& epoch : recording.epochs) largest = std::max(largest, epoch.interval);
  if (line.children > 0 && largest > 1) line.may_pass_unseen = largest;
  return line;
}

/// Looking for leaks takes a while; `geiger leaks` takes it whatever the recording's size.
constexpr std::uint64_t kMostToSearch = 500'000;

/// A rate per second is meaningless for a program that lived for less than a tenth of one.
constexpr Nanoseconds kLeastToSearch = 100'000'000;

/// The second sentence of the report, if it is about a whole run that has ended.
void add_leak(SummaryReport& report, const Recording& recording,
              const std::vector<profile::Teardown>& teardowns) {
  const bool can_tell = !report.is_part() && !report.is_aggregated && !report.options.is_followed &&
                        report.options.origin.empty();
  if (!can_tell || profile::duration_of(recording) < kLeastToSearch) return;
  if (report.samples > kMostToSearch) {
    report.leak_note = fmt::format("too many samples to look for leaks here ({})",
                                   present::exact_count(report.samples));
    return;
  }
  LeaksOptions options;
  options.search.level = report.options.level;
  options.teardowns = &teardowns;
  LeaksReport leaks = leaks_report(recording, options);
  if (leaks.finding() == LeakFinding::kClear || leaks.lines.empty()) return;
  profile::LeakSite& site = leaks.lines.front().site;
  site.group.name = naming::display_name(site.group.name);
  if (leaks.finding() == LeakFinding::kSuspects) report.leak = sentence(leaks);
  if (site.open == profile::Open::kAlone) report.leak_note = sentence(leaks);
}

/// What the report opens with, and the totals, which each search measures too.
void add_findings(SummaryReport& report, const Recording& recording, const Profile& allocated,
                  const Profile& live, const Profile& peak) {
  const double level = report.options.level;
  const NamedRecording named(recording);
  Opening found = find_opening(named, allocated, live, peak, !report.is_aggregated, level);
  report.allocated = found.allocated;
  report.live_at_end = found.live_at_end;
  report.live_at_peak = found.live_at_peak;
  report.finding = std::move(found.finding);
  const double heap =
      std::max(report.live_at_peak.bytes.interval.hi, report.live_at_end.bytes.interval.hi);
  if (!report.mapped.is_seen || static_cast<double>(report.mapped.at_peak) <= heap) return;
  report.mapped_finding = find(named, select(recording, Kind::kMappedAtPeak), level);
}

}  // namespace

SummaryReport summary_report(const Recording& recording, const SummaryOptions& options) {
  SummaryReport report;
  report.options = options;
  count_samples(report, recording);
  report.is_z_known = profile::has_every_hit(recording);
  if (options.has_checks) {
    report.hits = profile::check_hits(recording);
    report.offsets = profile::check_offsets(recording);
  }
  report.gaps = profile::gaps_of(recording);
  report.duration = profile::duration_of(recording);
  const Profile allocated = select(recording, of_kind(options.selection, Kind::kAllocated));
  report.detection_limit = estimation::detection_limit(allocated.largest_interval, options.level);
  add_processes(report, recording, allocated);
  report.misses_total = misses_any_total(recording, report.processes);
  const Profile live = select(recording, of_kind(options.selection, Kind::kLiveAtEnd));
  if (!report.is_part()) report.mapped = mapped_line(recording);
  report.forked = forked_line(recording);
  report.is_aggregated = !recording.tallies.empty();
  // Looked for once, for the peak and for leaks.
  const std::vector<profile::Teardown> teardowns = profile::find_teardowns(recording);
  profile::Selection of_peak = of_kind(options.selection, Kind::kLiveAtPeak);
  of_peak.teardowns = &teardowns;
  const Profile peak = select(recording, of_peak);
  report.end = present::end_text(recording, options.selection);
  report.is_peak_split = peak.rate_factor < 1;
  report.peak_time = time_of_peak(recording, peak);
  add_own_peaks(report, recording);
  add_findings(report, recording, allocated, live, peak);
  if (!report.is_part()) report.fault = clause(faults_report(recording, {.top = 1}));
  if (options.sites > 0) {
    report.top_allocated = sites(recording, allocated, options);
    report.top_live_at_peak = sites(recording, peak, options);
  }
  add_leak(report, recording, teardowns);
  if (options.has_all_kinds && !report.is_part()) {
    report.kinds = further_kinds(recording, options.level);
    if (report.samples > 0 && !report.is_aggregated)
      report.lifetimes = lifetimes_of_all(recording, options.level);
  }
  if (!report.is_aggregated) {  // Counted samples have no addresses to look for.
    RssOptions rss;
    rss.level = options.level;
    auto account = rss_report(recording, rss);
    if (account.has_value()) report.rss = std::move(account.value());
  }
  return report;
}

const profile::Gap* gap_in_samples(const SummaryReport& report) {
  const auto gap = std::ranges::find_if(
      report.gaps, [](const profile::Gap& each) { return each.concerns(Kind::kAllocated, false); });
  return gap == report.gaps.end() ? nullptr : &*gap;
}

SelfCheck self_check_of(const SummaryReport& report) {
  // Both are of the trials and samples at hand, whatever else is missing.
  if (report.hits.has_failed() || report.offsets.has_failed()) return SelfCheck::kFailed;
  if (gap_in_samples(report) != nullptr) return SelfCheck::kUndecided;
  return report.misses_total ? SelfCheck::kFailed : SelfCheck::kPassed;
}

std::string_view name_of(SelfCheck check) {
  switch (check) {
    case SelfCheck::kPassed:
      return "passed";
    case SelfCheck::kUndecided:
      return "undecided";
    case SelfCheck::kFailed:
      return "failed";
  }
  return "";
}

std::uint64_t all_drops(const SummaryReport& report) {
  return std::accumulate(report.drops.begin(), report.drops.end(), std::uint64_t{0});
}

}  // namespace geiger::report
