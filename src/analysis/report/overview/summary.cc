#include "analysis/report/overview/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/naming/display_name.h"
#include "analysis/present/format.h"
#include "analysis/present/function_names.h"
#include "analysis/present/recording_words.h"
#include "analysis/present/text.h"
#include "analysis/profile/frames/labels.h"
#include "analysis/profile/lives/teardown.h"
#include "analysis/profile/memory/measured.h"
#include "analysis/profile/select/peak.h"
#include "analysis/report/advice/advice.h"
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
  const auto processor_times = profile::processor_times(recording);
  for (std::uint32_t i = 0; i < recording.processes.size(); ++i) {
    report.processes.push_back({i,
                                sums[i].samples + sums[i].certain_samples,
                                totals[i],
                                present::measure_total(sums[i], report.options.level),
                                {},
                                0,
                                processor_times[i]});
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
  for (const Kind kind :
       {Kind::kLiveUsable, Kind::kLiveOverhead, Kind::kResident, Kind::kSwapped, Kind::kUntouched,
        Kind::kStranded, Kind::kZero, Kind::kWhollyZero, Kind::kDuplicate}) {
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
  const bool is_brief = profile::duration_of(recording) < kLeastToSearch;
  if (!can_tell || (is_brief && recording.holders.empty())) return;
  if (report.samples > kMostToSearch) {
    report.leak_note = fmt::format("too many samples to look for leaks here ({})",
                                   present::exact_count(report.samples));
    return;
  }
  LeaksOptions options;
  options.search.level = report.options.level;
  options.teardowns = &teardowns;
  LeaksReport leaks = leaks_report(recording, options);
  const LeakFinding finding = leaks.finding();
  const auto shorten = [](LeakLine& line) {
    line.site.group.name = naming::display_name(line.site.group.name);
  };
  for (OwnerLine& owner : leaks.owners) shorten(owner.line);
  std::ranges::for_each(leaks.lines, shorten);
  const bool is_alone =
      !leaks.lines.empty() && leaks.lines.front().site.open == profile::Open::kAlone;
  if (leaks.suspects > 0 && !is_brief) report.leak = sentence(leaks);
  if (!leaks.unreachable.empty()) {
    report.leak += report.leak.empty() ? "" : " ";
    report.leak += unreachable_text(leaks.unreachable.front()) + ".";
  }
  if (finding == LeakFinding::kUndecided && is_alone) report.leak_note = sentence(leaks);
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
  report.beside = std::move(found.beside);
  const double heap =
      std::max(report.live_at_peak.bytes.interval.hi, report.live_at_end.bytes.interval.hi);
  if (!report.mapped.is_seen || static_cast<double>(report.mapped.at_peak) <= heap) return;
  report.mapped_finding = find(named, select(recording, Kind::kMappedAtPeak), level);
}

}  // namespace

SummaryReport summary_report(const Recording& recording, const SummaryOptions& options) {
  SummaryReport report;
  report.options = options;
  report.absent = present::absent_modules(recording);
  count_samples(report, recording);
  report.is_z_known = profile::has_every_hit(recording);
  if (options.has_checks) {
    report.hits = profile::check_hits(recording);
    report.offsets = profile::check_offsets(recording);
  }
  report.gaps = profile::gaps_of(recording);
  report.duration = profile::duration_of(recording);
  report.processor_time = profile::processor_time_of(recording);
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
  if (!report.is_part()) {
    const FaultsReport faults = faults_report(recording, {.top = 1});
    report.fault = clause(faults);
    report.guarding = faults.guarding;
  }
  if (options.sites > 0) {
    report.top_allocated = sites(recording, allocated, options);
    report.top_live_at_peak = sites(recording, peak, options);
  }
  add_leak(report, recording, teardowns);
  if (options.has_advice) {
    report.advice =
        clause(advice_report(recording, {.level = options.level, .least_share = kLargeSaving}));
  }
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

namespace {

using profile::Process;
using profile::ProcessTotals;
using profile::Recording;
using Facts = std::vector<SummaryFact>;

/// More frequent outcomes are not reported.
constexpr double kUsual = 0.05;

std::string known_objects(const present::Measure& measure) {
  if (measure.samples == 0) return "";
  return present::objects_text(measure);
}

std::string interval_text(const SummaryReport& report, const Recording& recording) {
  Bytes least = ~Bytes{0};
  Bytes most = 0;
  for (const profile::Epoch& epoch : recording.epochs) {
    least = std::min(least, epoch.interval);
    most = std::max(most, epoch.interval);
  }
  if (recording.epochs.empty()) return "none";
  if (most <= 1 && is_foreign(report)) return "none";
  if (most <= 1) return "1 B: every allocation is recorded";
  if (least == most) return present::exact_bytes(most) + " between sampled bytes, on average";
  return fmt::format("{} to {} between sampled bytes, on average", present::exact_bytes(least),
                     present::exact_bytes(most));
}

std::string z_text(const profile::HitCheck& hits) {
  const std::string z = fmt::format("by z = {}", present::z_score(hits.z));
  if (hits.has_failed()) return z + ", beyond chance";
  if (hits.p_value < kUsual) return z + ", " + present::one_run_of(hits);
  return z + ", within chance";
}

std::string exact_remark(const SummaryReport& report) {
  const ProcessTotals& totals = report.exact;
  if (totals.trials == 0 || report.allocated.bytes.variance <= 0) return "";
  if (const profile::Gap* gap = gap_in_samples(report)) {
    return "samples are missing: " + gap->why;
  }
  if (!report.hits.is_testable) return "";
  return fmt::format("the estimate differs {}", z_text(report.hits));
}

void add_self_check(Facts& facts, const SummaryReport& report) {
  if (report.offsets.samples + report.offsets.impossible == 0) return;
  const std::string hits = report.hits.is_testable
                               ? fmt::format("hits z = {}", present::z_score(report.hits.z))
                               : "hits not tested: some have no sample";
  const std::string remark = fmt::format("{}, offsets of sampled bytes {}", hits,
                                         present::p_equation(report.offsets.p_value()));
  switch (self_check_of(report)) {
    case SelfCheck::kPassed:
      return void(facts.push_back({"self-check", "passed", remark}));
    case SelfCheck::kUndecided:
      return void(facts.push_back(
          {"self-check", "undecided", gap_in_samples(report)->why + "; " + remark, true}));
    case SelfCheck::kFailed:
      facts.push_back({"self-check", "FAILED", remark, true});
  }
}

std::string samples_remark(const SummaryReport& report) {
  if (report.certain_samples == 0 || is_foreign(report)) return "";
  return present::plural(report.certain_samples, "large block") + " recorded exactly";
}

std::string threads_remark(const ProcessTotals& totals) {
  if (totals.unsettled_threads == 0) return "";
  const bool is_all = totals.threads == 1;
  return fmt::format(
      "{} last bytes{}, at most {}, are not counted", is_all ? "its" : "the",
      is_all ? "" : fmt::format(" of {} of them", present::exact_count(totals.unsettled_threads)),
      present::exact_bytes(totals.unsettled_bound));
}

std::string peak_remark(const SummaryReport& report) {
  if (report.live_at_peak.samples == 0) return "";
  std::string out = present::duration(report.peak_time) + " after the start";
  if (report.processes.size() > 1) out += ", all processes together";
  if (report.is_peak_split) out += "; measured with three quarters of the samples";
  return out;
}

/// Exact, and beside what went through the allocator.
void add_mapped(Facts& facts, const SummaryReport& report) {
  const MappedLine& mapped = report.mapped;
  if (!mapped.is_seen) return;
  std::string remark = fmt::format(
      "{} at the end, {} reserved, {} of files", present::exact_bytes(mapped.at_end.memory),
      present::exact_bytes(mapped.at_end.reserved), present::exact_bytes(mapped.at_end.files));
  if (mapped.misses_inherited) remark += "; mappings inherited by forks are not counted";
  facts.push_back({"own mmap", present::exact_bytes(mapped.at_peak) + " at the peak", remark});
}

std::string remark_on(const KindLine& line) {
  if (line.asked) return text_of(*line.asked);
  if (line.kind == profile::Kind::kLiveUsable) return "after rounding, live at the end";
  if (line.kind == profile::Kind::kLiveOverhead) {
    return "rounding by the allocator, live at the end";
  }
  return "of the heap live at the largest RSS";
}

/// Of the kinds that sum something else than sizes, and of lives.
void add_further_kinds(Facts& facts, const SummaryReport& report) {
  for (const KindLine& line : report.kinds) {
    facts.push_back(
        {std::string(profile::name_of(line.kind)), bytes_text(line.measure), remark_on(line)});
  }
  if (!report.lifetimes) return;
  const LifetimeFigures& lives = report.lifetimes->bytes;
  const std::string median = length_figure(lives.quantiles[kMedian], lives.longest).text();
  facts.push_back({"median lifetime", median,
                   fmt::format("weighted by bytes; {} are freed within 1 ms",
                               present::figure(lives.temporary).text())});
}

void add_children(Facts& facts, const ForkedLine& forked) {
  if (forked.children == 0) return;
  std::string remark = "recorded from their first allocation";
  if (forked.may_pass_unseen > 0) {
    remark += fmt::format("; forks by inlined system calls may leave {} unrecorded",
                          present::exact_bytes(forked.may_pass_unseen));
  }
  facts.push_back(
      {"children", fmt::format("{} by fork", present::exact_count(forked.children)), remark});
}

void add_extent(Facts& facts, const Recording& recording, bool is_followed) {
  std::string label = "recorded";
  for (std::string& line : present::extent_lines(recording, is_followed)) {
    facts.push_back({std::exchange(label, ""), std::move(line)});
  }
}

/// Those of the processes that are not the C library's.
void add_allocators(Facts& facts, const Recording& recording) {
  std::set<std::string_view> names;
  for (const profile::Process& process : recording.processes) {
    const std::string_view name = profile::other_allocator(process);
    if (!name.empty()) names.insert(name);
  }
  if (names.empty()) return;
  facts.push_back({"allocator", present::printable(fmt::format("{}", fmt::join(names, ", "))), ""});
}

void add_live(Facts& facts, const SummaryReport& report) {
  if (report.options.is_followed) {
    facts.push_back(
        {"live now", bytes_text(report.live_at_end), known_objects(report.live_at_end)});
    return;
  }
  facts.push_back({"live at the peak",
                   report.is_aggregated ? "not recorded" : bytes_text(report.live_at_peak),
                   peak_remark(report)});
  const bool has_end = report.options.selection.to.has_value();
  std::string remark = known_objects(report.live_at_end);
  if (!report.end.empty()) remark += (remark.empty() ? "" : ", ") + report.end;
  facts.push_back(
      {has_end ? "live at its end" : "live at the end", bytes_text(report.live_at_end), remark});
}

void add_drops(Facts& facts, const SummaryReport& report) {
  if (is_foreign(report)) return;
  if (all_drops(report) == 0) return void(facts.push_back({"dropped", "nothing"}));
  std::string label = "dropped";
  for (std::size_t i = 0; i < report.drops.size(); ++i) {
    if (report.drops[i] == 0) continue;
    facts.push_back({std::exchange(label, ""), present::exact_count(report.drops[i]),
                     present::drop_cause_text(static_cast<vocabulary::DropCause>(i)), true});
  }
}

}  // namespace

Facts summary_facts(const SummaryReport& report, const Recording& recording) {
  Facts facts;
  facts.push_back({"interval", interval_text(report, recording)});
  add_extent(facts, recording, report.options.is_followed);
  add_allocators(facts, recording);
  facts.push_back({"samples", present::exact_count(report.samples), samples_remark(report)});
  const bool is_told = !profile::has_live_only(recording);
  facts.push_back({"allocated", is_told ? bytes_text(report.allocated) : "not recorded",
                   is_told ? known_objects(report.allocated) : ""});
  const bool has_exact = !is_foreign(report) || report.exact.threads > 0;
  if (!report.is_part() && has_exact) {
    facts.push_back({"exact total", exact_total_text(report), exact_remark(report)});
    add_self_check(facts, report);
  }
  add_live(facts, report);
  add_further_kinds(facts, report);
  add_mapped(facts, report);
  if (report.rss && !report.is_part()) {
    facts.push_back({"resident memory", explained_line(*report.rss) + "; see geiger rss"});
  }
  if (report.detection_limit >= 1) {
    facts.push_back({"detection limit", present::bound_bytes(report.detection_limit),
                     "any site without samples allocated less than this"});
  }
  if (!report.is_part() && !is_foreign(report)) {
    facts.push_back(
        {"threads", present::exact_count(report.exact.threads), threads_remark(report.exact)});
    add_children(facts, report.forked);
  }
  facts.push_back({"stacks", present::exact_count(report.stacks),
                   report.truncated == 0 ? "none truncated"
                                         : present::exact_share(report.truncated, report.samples) +
                                               " of the samples have a truncated stack"});
  std::string label = "interpreters";
  for (const std::string& line : present::interpreter_lines(recording)) {
    facts.push_back({std::exchange(label, ""), line});
  }
  if (report.guarding.is_on) {
    facts.push_back({"guarded",
                     fmt::format("{} of {}", present::exact_count(report.guarding.guarded()),
                                 present::plural(report.guarding.chosen, "chosen sample")),
                     "see geiger faults"});
  }
  add_drops(facts, report);
  return facts;
}

std::vector<std::string> summary_warnings(const SummaryReport& report, const Recording& recording) {
  std::vector<std::string> lines;
  const bool is_total_missed = report.misses_total && gap_in_samples(report) == nullptr;
  if (report.hits.has_failed() || is_total_missed) {
    lines.emplace_back("The estimate disagrees with the exact total: please report this.");
  }
  if (report.offsets.has_failed()) {
    lines.emplace_back("Offsets of sampled bytes are not as expected; see geiger doctor.");
  }
  for (const profile::Gap& gap : report.gaps) lines.push_back("incomplete: " + gap.why);
  if (report.samples == 0) {
    lines.emplace_back("No samples. Record with a smaller --interval.");
  }
  lines.insert(lines.end(), recording.warnings.begin(), recording.warnings.end());
  return lines;
}

std::string program_text(const Recording& recording) {
  return recording.processes.empty()
             ? std::string()
             : std::string(profile::program_name(profile::main_process(recording)));
}

std::string what_ran(const Recording& recording) {
  if (recording.processes.empty()) return "";
  const Process& main = profile::main_process(recording);
  std::string out =
      fmt::format("pid {}: {} after {}", present::pid_text(main), present::ending_text(main),
                  present::duration(main.end - std::min(main.began(), main.end)));
  if (recording.processes.size() > 1) {
    out += fmt::format("; {} processes, {}", present::exact_count(recording.processes.size()),
                       present::duration(profile::duration_of(recording)));
  }
  const std::string time = present::text_of(profile::processor_time_of(recording));
  return time.empty() ? out : out + fmt::format(" ({} of processor time)", time);
}

std::string exact_total_text(const SummaryReport& report) {
  return present::counted_bytes(report.exact.exact_bytes, report.exact.unsettled_bound);
}

std::string bytes_text(const present::Measure& measure) {
  return present::figure(estimated_bytes(measure), present::Quantity::kBytes).text();
}

}  // namespace geiger::report
