#include "analysis/report/live.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/profile/totals.h"
#include "analysis/report/json.h"
#include "analysis/report/names.h"
#include "estimation/estimate.h"

namespace geiger::report {
namespace {

using profile::Kind;
using profile::Recording;

profile::Selection selection_of(const LiveOptions& options, Kind kind) {
  profile::Selection selection;
  selection.kind = kind;
  selection.keeps = options.keeps;
  if (options.process) {
    selection.keeps = [process = *options.process,
                       keeps = options.keeps](const profile::Sample& sample) {
      return sample.process == process && (!keeps || keeps(sample));
    };
  }
  return selection;
}

bool is_shown(const LiveOptions& options, std::uint32_t process) {
  return !options.process || *options.process == process;
}

/// The exact sums of the processes shown.
void add_exact(LiveReport& report, const Recording& picture) {
  for (std::uint32_t i = 0; i < picture.processes.size(); ++i) {
    if (!is_shown(report.options, i)) continue;
    const profile::Process& process = picture.processes[i];
    report.thinning = std::max(report.thinning, process.thinning);
    report.dropped = std::reduce(process.drops.begin(), process.drops.end(), report.dropped);
    const profile::ProcessTotals totals = profile::process_totals(picture, i);
    report.exact_bytes += totals.exact_bytes;
    report.unsettled += totals.unsettled_bound;
  }
}

/// Of the latest sample; before there is one, what recording began with.
Bytes interval_of(const Recording& picture, const LiveOptions& options) {
  const profile::Tally* latest = nullptr;
  for (const profile::Tally& tally : picture.tallies) {
    if (!is_shown(options, tally.alike.process)) continue;
    if (latest == nullptr || tally.last > latest->last) latest = &tally;
  }
  if (latest != nullptr) return picture.epochs[latest->alike.epoch].interval;
  return picture.processes.empty() ? 0 : picture.processes.front().interval;
}

Nanoseconds elapsed_of(const Recording& picture, Nanoseconds now) {
  Nanoseconds end = now;
  for (const auto& process : picture.processes) end = std::max(end, process.end);
  const Nanoseconds start = profile::start_of(picture);
  return end - std::min(start, end);
}

}  // namespace

LiveReport live_report(const Recording& picture, std::vector<LiveProcess> processes,
                       const LiveOptions& options) {
  LiveReport report;
  report.options = options;
  report.processes = std::move(processes);
  report.elapsed = elapsed_of(picture, options.now);
  report.interval = interval_of(picture, options);
  for (const LiveProcess& process : report.processes) {
    if (is_shown(options, process.index)) report.resident += process.resident;
  }
  add_exact(report, picture);
  const profile::Profile allocated =
      profile::select(picture, selection_of(options, Kind::kAllocated));
  const profile::Profile live = profile::select(picture, selection_of(options, Kind::kLiveAtEnd));
  const double level = options.table.level;
  report.allocated = Whole(picture, allocated).measure_total(level);
  report.live = Whole(picture, live).measure_total(level);
  report.samples = report.allocated.samples;
  report.live_samples = report.live.samples;
  report.detection_limit = estimation::detection_limit(live.largest_interval, level);
  report.table =
      table_report(picture, options.kind == Kind::kAllocated ? allocated : live, options.table);
  return report;
}

std::string to_json(const LiveReport& report, const Recording& picture) {
  JsonWriter json;
  json.begin_object().field("schema_version", kSchemaVersion).field("report", "live");
  json.field("elapsed", report.elapsed).field("interval", report.interval);
  json.key("processes").begin_array();
  for (const LiveProcess& process : report.processes) {
    json.begin_object().field("pid", process.pid).field("program", process.name);
    json.field("state", process.state).field("resident", process.resident).end_object();
  }
  json.end_array();
  if (report.options.process) {
    json.field("only_pid", picture.processes[*report.options.process].pid);
  }
  json.field("samples", report.samples).field("live_samples", report.live_samples);
  json.field("dropped", report.dropped).field("thinning", report.thinning);
  json.field("exact_bytes", report.exact_bytes).field("unsettled_bound", report.unsettled);
  json.field("detection_limit", report.detection_limit).field("resident", report.resident);
  json.key("allocated").begin_object();
  write_fields(json, report.allocated);
  json.end_object().key("live").begin_object();
  write_fields(json, report.live);
  json.end_object().key("table").begin_object();
  write_fields(json, report.table, picture);
  json.end_object().end_object();
  return json.take();
}

}  // namespace geiger::report
