#include "analysis/report/overview/summary_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/present/extent.h"
#include "analysis/present/format.h"
#include "analysis/present/names.h"
#include "analysis/present/text.h"
#include "analysis/profile/labels.h"
#include "analysis/profile/memory/measured.h"

namespace geiger::report {
namespace {

using profile::Process;
using profile::ProcessTotals;
using profile::Recording;
using Facts = std::vector<SummaryFact>;

/// Probability of |z| > 3, about: more frequent outcomes are not reported.
constexpr double kUsual = 1.0 / 370;

std::string objects_text(const present::Measure& measure) {
  if (measure.samples == 0) return "";
  const std::string count = present::objects_figure(measure).text();
  return count + (count == "1" ? " object" : " objects");
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
  if (hits.p_value < kUsual) return z + ", as in one run of 400";
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
  return fmt::format("{} recorded with certainty (at least the interval)",
                     present::exact_count(report.certain_samples));
}

std::string threads_text(const SummaryReport& report) {
  std::string out = present::exact_count(report.exact.threads);
  if (report.exact.unsettled_threads == 0) return out;
  return out + fmt::format(", the last bytes of {} of them not counted",
                           present::exact_count(report.exact.unsettled_threads));
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
    facts.push_back({"live now", bytes_text(report.live_at_end), objects_text(report.live_at_end)});
    return;
  }
  facts.push_back({"live at the peak",
                   report.is_aggregated ? "not recorded" : bytes_text(report.live_at_peak),
                   peak_remark(report)});
  const bool has_end = report.options.selection.to.has_value();
  std::string remark = objects_text(report.live_at_end);
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
                   is_told ? objects_text(report.allocated) : ""});
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
    facts.push_back({"threads", threads_text(report)});
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
                  present::duration(main.end - std::min(main.start, main.end)));
  if (recording.processes.size() < 2) return out;
  return out + fmt::format("; {} processes, {}", present::exact_count(recording.processes.size()),
                           present::duration(profile::duration_of(recording)));
}

std::string exact_total_text(const SummaryReport& report) {
  const ProcessTotals& totals = report.exact;
  std::string out = present::exact_bytes(totals.exact_bytes);
  if (totals.unsettled_bound > 0) {
    out += fmt::format(" + at most {}", present::exact_bytes(totals.unsettled_bound));
  }
  return out;
}

std::string bytes_text(const present::Measure& measure) {
  return present::figure(measure.bytes, present::Quantity::kBytes).text();
}

}  // namespace geiger::report
