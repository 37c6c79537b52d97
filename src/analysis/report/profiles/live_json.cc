#include "analysis/present/function_names.h"
#include "analysis/present/stack_json.h"
#include "analysis/report/profiles/live.h"

namespace geiger::report {

using present::Fields;
using present::InRecording;
using present::Of;
using profile::Recording;

namespace {

/// Bytes over the time in which they grew.
struct Rate {
  const LiveGrowth& growth;
  [[nodiscard]] double of(double bytes) const {
    return bytes / (static_cast<double>(growth.length) / 1e9);
  }
};
const Fields<Rate>& fields_of(Of<Rate> /*type*/) {
  static const auto kFields =
      Fields<Rate>()
          .field("value", "", [](const Rate& it) { return it.of(it.growth.bytes); })
          .field("lo", "", [](const Rate& it) { return it.of(it.growth.interval.lo); })
          .or_null()
          .field("hi", "", [](const Rate& it) { return it.of(it.growth.interval.hi); });
  return kFields;
}

}  // namespace

static const Fields<LiveGrowth>& fields_of(Of<LiveGrowth> /*type*/) {
  static const auto kFields =
      Fields<LiveGrowth>("live_growth", "Live bytes now less those then, of this look alone.")
          .field("bytes", "", &LiveGrowth::bytes)
          .field("lo", "null where frees of older objects are not seen",
                 [](const LiveGrowth& it) { return it.interval.lo; })
          .or_null()
          .field("hi", "", [](const LiveGrowth& it) { return it.interval.hi; })
          .field("per_second", "", [](const LiveGrowth& it) { return Rate{it}; });
  return kFields;
}

static const Fields<LiveProcess>& fields_of(Of<LiveProcess> /*type*/) {
  static const auto kFields =
      Fields<LiveProcess>("live_process")
          .field("pid", "", &LiveProcess::pid)
          .field("program", "", &LiveProcess::name)
          .field("state",
                 "`recording`, `exited`, `stopped`, `switched off`, or `gone`: by a signal, _exit "
                 "or exec",
                 &LiveProcess::state)
          .field("resident", "bytes; 0 unless it is recording", &LiveProcess::resident);
  return kFields;
}

namespace {

struct GrownRow {
  const GrowthRow& row;
  profile::GroupBy by;
  const Recording& picture;
};
const Fields<GrownRow>& fields_of(Of<GrownRow> /*type*/) {
  static const auto kFields =
      Fields<GrownRow>("growth_row")
          .inlined([](const GrownRow& it) {
            return present::Named{it.row.key.name, present::is_named_by_functions(it.by)};
          })
          .field("detail", "", [](const GrownRow& it) { return it.row.key.detail; })
          .inlined([](const GrownRow& it) { return it.row.where; })
          .field("is_growing", "allowing for all looks and rows",
                 [](const GrownRow& it) { return it.row.is_growing; })
          .field("since_start", "of watching",
                 [](const GrownRow& it) { return it.row.since_start; })
          .field("recent", "", [](const GrownRow& it) { return it.row.recent; })
          .inlined(
              [](const GrownRow& it) { return present::stack_of(it.picture, it.row.key.stack); });
  return kFields;
}

struct Grown {
  const LiveReport& report;
  const Recording& picture;
  [[nodiscard]] const GrowthReport& growth() const { return report.growth; }
};

std::vector<GrownRow> grown_rows(const Grown& of) {
  std::vector<GrownRow> rows;
  const std::size_t top = of.report.options.table.top;
  for (const GrowthRow& row : of.growth().rows()) {
    if (top != 0 && rows.size() == top) break;
    rows.push_back({row, of.growth().by(), of.picture});
  }
  return rows;
}

const Fields<Grown>& fields_of(Of<Grown> /*type*/) {
  static const auto kFields =
      Fields<Grown>("live_heap_growth", "Of the live heap, from the second look on.")
          .field("length_ns", "since watching began",
                 [](const Grown& it) { return it.growth().length(); })
          .field("recent_length_ns", "once there is a recent time",
                 [](const Grown& it) {
                   return present::if_true(it.growth().has_recent(), it.growth().recent_length());
                 })
          .field("sentence", "", [](const Grown& it) { return sentence(it.growth()); })
          .field("growing", "rows that are reported as growing",
                 [](const Grown& it) { return it.growth().growing(); })
          .field("total", "", [](const Grown& it) { return it.growth().total(); })
          .field("rows", "that seem to have grown, the reported ones first", &grown_rows);
  return kFields;
}

}  // namespace

const Fields<InRecording<LiveReport>>& fields_of(Of<InRecording<LiveReport>> /*type*/) {
  using Document = InRecording<LiveReport>;
  static const auto kFields =
      Fields<Document>("live")
          .field("elapsed", "ns since the recording began", &LiveReport::elapsed)
          .field("interval", "bytes, in force for the latest sample", &LiveReport::interval)
          .field("processes", "all of the run", &LiveReport::processes)
          .field("only_pid", "the rest is of this process alone",
                 [](const Document& it) {
                   const std::optional<std::uint32_t> only = it.it.options.process;
                   return only ? std::optional(it.recording.processes[*only].pid) : std::nullopt;
                 })
          .field("samples", "", &LiveReport::samples)
          .field("live_samples", "", &LiveReport::live_samples)
          .field("dropped", "", &LiveReport::dropped)
          .field("thinning", "the largest level", &LiveReport::thinning)
          .field("exact_bytes", "allocated, as counted", &LiveReport::exact_bytes)
          .field("unsettled_bound", "at most so many more, not reported by threads yet",
                 &LiveReport::unsettled)
          .field("detection_limit", "bytes of `live` that may have no samples",
                 &LiveReport::detection_limit)
          .field("resident", "RSS of the processes that are recording", &LiveReport::resident)
          .field("allocated", "", &LiveReport::allocated)
          .field("live", "", &LiveReport::live)
          .field("growth", "not of aggregated programs",
                 [](const Document& it) {
                   return present::if_true(it.it.growth.is_known(), Grown{it.it, it.recording});
                 })
          .field("table", "", [](const Document& it) {
            return InRecording<TableReport>{it.it.table, it.recording};
          });
  return kFields;
}

std::string to_json(const LiveReport& report, const Recording& picture) {
  return present::document("live", report, picture);
}

}  // namespace geiger::report
