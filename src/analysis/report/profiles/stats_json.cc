#include <span>

#include "analysis/report/profiles/stats.h"

namespace geiger::report {
namespace {

using present::Fields;
using present::InRecording;
using present::Of;
using profile::ProcessTotals;

/// A thread, with what was counted of it unless the report is of a part.
struct ThreadRow {
  const ThreadLine& line;
  const profile::Thread& thread;
  std::optional<std::uint32_t> pid;
  bool has_count;
};

const Fields<ThreadRow>& fields_of(Of<ThreadRow> /*type*/) {
  static const auto kFields =
      Fields<ThreadRow>("thread")
          .field("tid", "", [](const ThreadRow& it) { return it.thread.tid; })
          .field("name", "", [](const ThreadRow& it) { return it.thread.name; })
          .field("pid", "", &ThreadRow::pid)
          .field("start_ns", "monotonic", [](const ThreadRow& it) { return it.thread.start; })
          .field("end_ns", "monotonic", [](const ThreadRow& it) { return it.thread.end; })
          .field("exact_bytes", "counted up to its last settling; not of parts of a recording",
                 [](const ThreadRow& it) {
                   return present::if_true(it.has_count, it.line.exact_bytes);
                 })
          .inlined([](const ThreadRow& it) { return it.line.measure; });
  return kFields;
}

std::vector<ThreadRow> thread_rows(const InRecording<StatsReport>& of) {
  std::vector<ThreadRow> rows;
  for (const ThreadLine& line : of.it.threads) {
    const profile::Thread& thread = of.recording.threads[line.thread];
    const bool is_known = thread.process < of.recording.processes.size();
    rows.push_back(
        {line, thread,
         is_known ? std::optional(of.recording.processes[thread.process].pid) : std::nullopt,
         !is_part(of.it)});
  }
  return rows;
}

struct ProcessRow {
  const ProcessTotals& totals;
  const profile::Process& process;
};

const Fields<ProcessRow>& fields_of(Of<ProcessRow> /*type*/) {
  static const auto kFields =
      Fields<ProcessRow>("counted_process")
          .field("pid", "", [](const ProcessRow& it) { return it.process.pid; })
          .field("executable", "", [](const ProcessRow& it) { return it.process.executable; })
          .field("exact_bytes", "counted up to the last settling of each thread",
                 [](const ProcessRow& it) { return it.totals.exact_bytes; })
          .field("unsettled_bound", "at most so many bytes more",
                 [](const ProcessRow& it) { return it.totals.unsettled_bound; })
          .field("certain_bytes", "", [](const ProcessRow& it) { return it.totals.certain_bytes; })
          .field("z", "the hits' difference from those expected, in standard errors",
                 [](const ProcessRow& it) { return it.totals.z; })
          .or_null();
  return kFields;
}

std::vector<ProcessRow> process_rows(const InRecording<StatsReport>& of) {
  std::vector<ProcessRow> rows;
  for (const ProcessTotals& totals : of.it.processes) {
    rows.push_back({totals, of.recording.processes[rows.size()]});
  }
  return rows;
}

}  // namespace

static const Fields<Group>& fields_of(Of<Group> /*type*/) {
  static const auto kFields =
      Fields<Group>("stats_group").field("name", "", &Group::name).inlined(&Group::measure);
  return kFields;
}

static const Fields<SizeClass>& fields_of(Of<SizeClass> /*type*/) {
  static const auto kFields = Fields<SizeClass>("size_class")
                                  .field("least", "requested bytes", &SizeClass::least)
                                  .field("most", "requested bytes", &SizeClass::most)
                                  .inlined(&SizeClass::measure);
  return kFields;
}

static const Fields<DepthClass>& fields_of(Of<DepthClass> /*type*/) {
  static const auto kFields = Fields<DepthClass>("depth_class")
                                  .field("least", "frames", &DepthClass::least)
                                  .field("most", "frames", &DepthClass::most)
                                  .field("samples", "", &DepthClass::samples);
  return kFields;
}

const Fields<InRecording<StatsReport>>& fields_of(Of<InRecording<StatsReport>> /*type*/) {
  static const auto kFields =
      Fields<InRecording<StatsReport>>("stats")
          .field("level", "confidence level of all intervals",
                 [](const StatsReport& it) { return it.options.level; })
          .field("kind", "", [](const StatsReport& it) { return it.options.selection.kind; })
          .field("is_split", "a quarter of the samples chose the instant, the others were measured",
                 &StatsReport::is_split)
          .inlined([](const StatsReport& it) { return it.options.scope; })
          .field("total", "", &StatsReport::total)
          .field("sizes", "by powers of two", &StatsReport::sizes)
          .field("entry_points", "the functions that were called to allocate",
                 &StatsReport::entry_points)
          .field("lifetimes", "shortest first, then what was still live; empty of sums",
                 &StatsReport::lifetimes)
          .field("depths", "of stacks", &StatsReport::depths)
          .field("truncated_samples", "with a stack that was cut", &StatsReport::truncated_samples)
          .field("thread_count", "threads before those with least were left out",
                 &StatsReport::thread_count)
          .field("threads", "", &thread_rows)
          .field("processes", "of whole recordings only", &process_rows);
  return kFields;
}

std::string to_json(const StatsReport& report, const profile::Recording& recording) {
  return present::document("stats", report, recording);
}

}  // namespace geiger::report
