#include "analysis/present/function_names.h"
#include "analysis/present/measure.h"
#include "analysis/present/recording_words.h"
#include "analysis/report/overview/summary.h"

namespace geiger::report {
namespace {

using present::Fields;
using present::InRecording;
using present::Of;
using profile::Process;
using profile::ProcessTotals;
using profile::Recording;
using Document = InRecording<SummaryReport>;

/// Of all processes, or of one.
struct Counted {
  const ProcessTotals& totals;
};
const Fields<Counted>& fields_of(Of<Counted> /*type*/) {
  const auto of = [](auto ProcessTotals::*member) {
    return [member](const Counted& it) { return it.totals.*member; };
  };
  static const auto kFields =
      Fields<Counted>("counted", "What was counted, not estimated.")
          .field("bytes", "up to the last settling of each thread", of(&ProcessTotals::exact_bytes))
          .field("unsettled_bound", "at most so many bytes more",
                 of(&ProcessTotals::unsettled_bound))
          .field("threads", "", of(&ProcessTotals::threads))
          .field("unsettled_threads", "", of(&ProcessTotals::unsettled_threads))
          .field("certain_bytes", "of objects as large as the interval",
                 of(&ProcessTotals::certain_bytes))
          .field("certain_count", "", of(&ProcessTotals::certain_count))
          .field("trials", "bytes that were tried", of(&ProcessTotals::trials))
          .field("hits", "of the trials", of(&ProcessTotals::hits))
          .field("tail_bytes", "tried since the last hit of each thread",
                 of(&ProcessTotals::tail_bytes))
          .field("z", "the hits' difference from those expected, in standard errors",
                 of(&ProcessTotals::z))
          .or_null();
  return kFields;
}

struct SelfChecked {
  const SummaryReport& report;
};
const Fields<SelfChecked>& fields_of(Of<SelfChecked> /*type*/) {
  static const auto kFields =
      Fields<SelfChecked>("self_check", "The tests of the recording.")
          .field(
              "passed", "",
              [](const SelfChecked& it) { return self_check_of(it.report) == SelfCheck::kPassed; })
          .field("answer",
                 "`undecided`: the recording is incomplete, so its exact totals cover more than "
                 "its samples",
                 [](const SelfChecked& it) { return name_of(self_check_of(it.report)); })
          .one_of(present::texts_of<SelfCheck>([](SelfCheck check) { return name_of(check); }))
          .field("lacks", "what the recording lacks",
                 [](const SelfChecked& it) {
                   std::vector<std::string> lacks;
                   for (const profile::Gap& gap : it.report.gaps) lacks.push_back(gap.why);
                   return lacks;
                 })
          .field("hits", "", [](const SelfChecked& it) { return it.report.hits; })
          .field("offsets", "", [](const SelfChecked& it) { return it.report.offsets; });
  return kFields;
}

present::Keyed<std::uint64_t> drops_of(const vocabulary::Drops& drops) {
  present::Keyed<std::uint64_t> keyed;
  for (std::size_t i = 0; i < drops.size(); ++i) {
    const auto cause = static_cast<vocabulary::DropCause>(i);
    const bool is_known = !words_of(cause).key.empty();
    if (is_known || drops[i] > 0)
      keyed.values.emplace_back(present::drop_cause_key(cause), drops[i]);
  }
  return keyed;
}
constexpr std::string_view kDropsMeaning =
    "samples and frees that could not be recorded, by cause: `trace_full`, `reentered`, "
    "`live_table_full`, `unseen_free`, `uncarried`";

struct RefusedOf {
  const Process& process;
};
const Fields<RefusedOf>& fields_of(Of<RefusedOf> /*type*/) {
  static const auto kFields =
      Fields<RefusedOf>("refused", "Traces that could not be made.")
          .field("children", "by fork that were not recorded",
                 [](const RefusedOf& it) { return it.process.refused.children; })
          .field("children_errno", "of the last of them",
                 [](const RefusedOf& it) { return it.process.refused.children_errno; })
          .field("segment_errno", "of a next segment; 0: none was refused",
                 [](const RefusedOf& it) { return it.process.refused.segment_errno; });
  return kFields;
}

struct ProcessOf {
  const ProcessLine& line;
  const Process& process;
  bool has_own_peak;
};
const Fields<ProcessOf>& fields_of(Of<ProcessOf> /*type*/) {
  const auto of = [](auto Process::*member) {
    return [member](const ProcessOf& it) { return it.process.*member; };
  };
  static const auto kFields =
      Fields<ProcessOf>("process", "One process image.")
          .field("pid", "for the recorder", of(&Process::pid))
          .field("inner_pid", "in its own pid namespace, where that is another",
                 [](const ProcessOf& it) {
                   return present::if_true(it.process.inner_pid != 0, it.process.inner_pid);
                 })
          .field("parent_pid", "in its own pid namespace", of(&Process::parent_pid))
          .field("executable", "", of(&Process::executable))
          .field("allocator", "", of(&Process::allocator))
          .field("trace", "", of(&Process::trace_path))
          .field("trace_bytes", "", of(&Process::trace_bytes))
          .field("is_fork_child", "", of(&Process::is_fork_child))
          .field("is_pure", "large objects were tried too", of(&Process::is_pure))
          .field("ending", "",
                 [](const ProcessOf& it) { return present::ending_key(it.process.ending); })
          .one_of(present::texts_of<profile::Ending>(present::ending_key))
          .field("end_signal", "that killed it, if `geiger run` saw it",
                 [](const ProcessOf& it) {
                   return present::if_true(it.process.end_signal != 0, it.process.end_signal);
                 })
          .field("was_memory_short",
                 "the kernel killed for lack of memory meanwhile, perhaps this process",
                 [](const ProcessOf& it) {
                   return present::if_true(it.process.end_signal != 0, it.process.was_memory_short);
                 })
          .field(
              "stop_reason", "why it stopped early; empty: it did not",
              [](const ProcessOf& it) { return present::stop_reason_key(it.process.stop_reason); })
          .field("stop_errno", "", of(&Process::stop_errno))
          .field("interval", "", of(&Process::interval))
          .field("seed", "", of(&Process::seed))
          .field("start_ns", "monotonic", of(&Process::start))
          .field("end_ns", "monotonic", of(&Process::end))
          .field("start_realtime_ns", "since 1970", of(&Process::start_realtime))
          .inlined([](const ProcessOf& it) { return it.line.processor_time; })
          .field("records", "", of(&Process::records))
          .field("uncommitted_records", "cut off", of(&Process::uncommitted))
          .field("samples", "", [](const ProcessOf& it) { return it.line.samples; })
          .inlined([](const ProcessOf& it) { return present::ExtentOf{it.process}; })
          .field("allocated", "", [](const ProcessOf& it) { return it.line.allocated; })
          .field("own_peak", "of several processes: of its heap alone",
                 [](const ProcessOf& it) {
                   return present::if_true(it.has_own_peak, it.line.own_peak);
                 })
          .field("own_peak_after_ns", "the start of the recording",
                 [](const ProcessOf& it) {
                   return present::if_true(it.has_own_peak, it.line.own_peak_time);
                 })
          .field("exact", "", [](const ProcessOf& it) { return Counted{it.line.exact}; })
          .field("drops", kDropsMeaning,
                 [](const ProcessOf& it) { return drops_of(it.process.drops); })
          .field("refused", "", [](const ProcessOf& it) { return RefusedOf{it.process}; });
  return kFields;
}

std::vector<ProcessOf> processes_of(const Document& of) {
  const bool has_own_peaks = !of.it.is_aggregated && of.it.processes.size() > 1;
  std::vector<ProcessOf> all;
  for (const ProcessLine& line : of.it.processes) {
    all.push_back({line, of.recording.processes[line.index], has_own_peaks});
  }
  return all;
}

struct SiteOf {
  const TableLine& line;
};
const Fields<SiteOf>& fields_of(Of<SiteOf> /*type*/) {
  static const auto kFields =
      Fields<SiteOf>("top_site", "A row of `table --by function`.")
          .inlined([](const SiteOf& it) { return present::Named{it.line.name}; })
          .field("detail", "its module", [](const SiteOf& it) { return it.line.detail; })
          .inlined([](const SiteOf& it) { return it.line.where; })
          .field("self", "", [](const SiteOf& it) { return it.line.self; })
          .field("share", "", [](const SiteOf& it) { return it.line.share; });
  return kFields;
}

std::vector<SiteOf> sites_of(const std::vector<TableLine>& lines) {
  std::vector<SiteOf> sites;
  for (const TableLine& line : lines) sites.push_back({line});
  return sites;
}

struct Lives {
  const LifetimeFigures& figures;
};
struct Temporary {
  const present::Share& share;
};
const Fields<Temporary>& fields_of(Of<Temporary> /*type*/) {
  static const auto kFields =
      Fields<Temporary>().field("share", "", [](const Temporary& it) { return it.share; });
  return kFields;
}
const Fields<Lives>& fields_of(Of<Lives> /*type*/) {
  static const auto kFields =
      Fields<Lives>("lives", "Of the bytes.")
          .field("median", "", [](const Lives& it) { return it.figures.quantiles[kMedian]; })
          .field("temporary", "freed within 1 ms",
                 [](const Lives& it) { return Temporary{it.figures.temporary}; });
  return kFields;
}

struct ResidentOf {
  const RssReport& report;
};
const Fields<ResidentOf>& fields_of(Of<ResidentOf> /*type*/) {
  static const auto kFields =
      Fields<ResidentOf>("summary_rss")
          .field("resident_bytes", "of the largest RSS reading",
                 [](const ResidentOf& it) { return it.report.resident; })
          .field("share", "of it that is live heap, if `rss` has shares", [](const ResidentOf& it) {
            return present::if_true(it.report.has_shares(), it.report.rows.front().share);
          });
  return kFields;
}

std::optional<present::Keyed<present::Measure>> kinds_of(const SummaryReport& report) {
  if (!report.options.has_all_kinds) return std::nullopt;
  present::Keyed<present::Measure> kinds;
  for (const KindLine& line : report.kinds) {
    kinds.values.emplace_back(profile::name_of(line.kind), line.measure);
  }
  return kinds;
}

present::Scope scope_of(const SummaryReport& report) {
  present::Scope scope = report.options.scope;
  for (const KindLine& line : report.kinds) {
    if (report.options.has_all_kinds && !scope.asked) scope.asked = line.asked;
  }
  return scope;
}

std::optional<std::vector<present::InterpreterOf>> interpreters_of(const Document& of) {
  std::vector<present::InterpreterOf> all;
  for (const profile::Interpreter& one : of.recording.interpreters) {
    all.push_back({of.recording, one});
  }
  return present::if_true(!all.empty(), all);
}

std::optional<std::string> if_said(const std::string& text) {
  return present::if_true(!text.empty(), text);
}

}  // namespace

static const Fields<MappedLine>& fields_of(Of<MappedLine> /*type*/) {
  static const auto kFields =
      Fields<MappedLine>("mapped", "What the program mapped itself, counted exactly.")
          .field("peak_bytes", "accessible at the maximum; the sum of each process's",
                 &MappedLine::at_peak)
          .field("bytes", "at the end", [](const MappedLine& it) { return it.at_end.memory; })
          .field("reserved_bytes", "at the end",
                 [](const MappedLine& it) { return it.at_end.reserved; })
          .field("file_bytes", "at the end", [](const MappedLine& it) { return it.at_end.files; })
          .field("misses_inherited",
                 "a child by fork had maps of its parent, which are not counted",
                 &MappedLine::misses_inherited);
  return kFields;
}

static const Fields<ForkedLine>& fields_of(Of<ForkedLine> /*type*/) {
  static const auto kFields =
      Fields<ForkedLine>("forked")
          .field("by_fork", "processes that others made by fork", &ForkedLine::children)
          .field("may_pass_unseen_bytes",
                 "at most, of each that was made by an inlined system call",
                 &ForkedLine::may_pass_unseen);
  return kFields;
}

const Fields<Document>& fields_of(Of<Document> /*type*/) {
  static const auto kFields =
      Fields<Document>("summary")
          .field("level", "confidence level of all intervals",
                 [](const SummaryReport& it) { return it.options.level; })
          .field("duration_ns", "from the first start to the last end", &SummaryReport::duration)
          .inlined(&SummaryReport::processor_time)
          .inlined(&scope_of)
          .field("origin", "of imported profiles: what they are, and what their numbers rest on",
                 [](const SummaryReport& it) {
                   return present::if_true(!it.options.origin.empty(), it.options.origin);
                 })
          .field("finding", "the first sentence of the report", &SummaryReport::finding)
          .field("beside",
                 "said beside it: what was allocated, if that is much more than the largest heap, "
                 "or what was live, if what was allocated comes first",
                 &SummaryReport::beside)
          .field("mapped_finding",
                 "on the program's own mappings, if they were larger than its largest live heap",
                 &SummaryReport::mapped_finding)
          .field("fault", "the first fault of a run in guard mode",
                 [](const SummaryReport& it) { return if_said(it.fault); })
          .field("guarding", "of a run in guard mode",
                 [](const SummaryReport& it) {
                   return present::if_true(it.guarding.is_on, it.guarding);
                 })
          .field("leak", "a sentence on the first leak suspect",
                 [](const SummaryReport& it) { return if_said(it.leak); })
          .field("samples", "records in all", &SummaryReport::samples)
          .field("certain_samples", "of these, recorded because they were as large as the interval",
                 &SummaryReport::certain_samples)
          .field("allocated", "", &SummaryReport::allocated)
          .field("exact", "of whole recordings",
                 [](const SummaryReport& it) {
                   return present::if_true(!it.is_part(), Counted{it.exact});
                 })
          .field("self_check", "of whole recordings",
                 [](const SummaryReport& it) {
                   return present::if_true(!it.is_part(), SelfChecked{it});
                 })
          .field("live_at_end", "when the last process ended, in those then there",
                 &SummaryReport::live_at_end)
          .field("is_aggregated", "samples were counted, not followed",
                 &SummaryReport::is_aggregated)
          .field("live_at_peak",
                 "the limits of `bytes` are those of the largest heap; its objects are of the "
                 "instant",
                 [](const SummaryReport& it) {
                   return present::if_true(!it.is_aggregated, it.live_at_peak);
                 })
          .field("kinds", "a measure of each further kind that the recording has", &kinds_of)
          .field("lifetimes", "",
                 [](const SummaryReport& it) {
                   return it.options.has_all_kinds && it.lifetimes
                              ? std::optional(Lives{it.lifetimes->bytes})
                              : std::nullopt;
                 })
          .field("mapped", "",
                 [](const SummaryReport& it) {
                   return present::if_true(it.mapped.is_seen, it.mapped);
                 })
          .field("peak_after_ns",
                 "from the start to the instant that stands for the peak of all processes together",
                 &SummaryReport::peak_time)
          .field("is_peak_split",
                 "a quarter of the samples chose the instant of the peak, the others were measured",
                 &SummaryReport::is_peak_split)
          .field("detection_limit_bytes", "any site without samples allocated less",
                 &SummaryReport::detection_limit)
          .field("stacks", "distinct ones", &SummaryReport::stacks)
          .field("truncated_samples", "with a stack that was cut", &SummaryReport::truncated)
          .field("is_symbolized", "names were found, stored or on this machine",
                 [](const Document& it) { return it.recording.is_symbolized; })
          .field("interpreters", "that ran in the processes", &interpreters_of)
          .field("rss", "of an observed process",
                 [](const SummaryReport& it) {
                   return it.rss ? std::optional(ResidentOf{*it.rss}) : std::nullopt;
                 })
          .field("children", "", &SummaryReport::forked)
          .field("drops", kDropsMeaning, [](const SummaryReport& it) { return drops_of(it.drops); })
          .field("processes", "in order of their starts", &processes_of)
          .field("top_allocated", "",
                 [](const SummaryReport& it) { return sites_of(it.top_allocated); })
          .field("top_live_at_peak", "",
                 [](const SummaryReport& it) { return sites_of(it.top_live_at_peak); })
          .field("warnings", "sentences", [](const Document& it) { return it.recording.warnings; });
  return kFields;
}

std::string to_json(const SummaryReport& report, const Recording& recording) {
  return present::document("summary", report, recording);
}

}  // namespace geiger::report
