#include "analysis/report/profiles/live.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/profile/totals.h"
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
      return sample.process == process ? answer_of(keeps, sample) : profile::Answer::kNo;
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

/// The rows of `report.table` in the order of their growth, and no more than `top`.
void sort_by_growth(LiveReport& report, std::size_t top) {
  std::vector<std::pair<LiveGrowth, TableLine>> rows;
  for (std::size_t i = 0; i < report.growths.size(); ++i) {
    rows.emplace_back(report.growths[i], std::move(report.table.lines[i]));
    rows.back().second.is_order_uncertain = false;
  }
  std::ranges::stable_sort(rows, std::greater<>(), [](const auto& row) { return row.first.bytes; });
  if (top != 0) rows.resize(std::min(rows.size(), top));
  report.growths.clear();
  report.table.lines.clear();
  for (auto& [growth, line] : rows) {
    report.growths.push_back(growth);
    report.table.lines.push_back(std::move(line));
  }
}

void add_live_table(LiveReport& report, const Recording& picture, const profile::Profile& live) {
  const LiveOptions& options = report.options;
  const bool is_known = report.growth.is_known();
  const bool sorts = options.sorts_by_growth && is_known;
  TableOptions table = options.table;
  if (sorts) table.top = 0;
  report.table = table_report(picture, live, table);
  if (!is_known) return;
  const bool is_recent = options.growth_of == GrowthOf::kRecent && report.growth.has_recent();
  for (const TableLine& line : report.table.lines) {
    const RowKey key = key_of(line, options.table.by);
    report.growths.push_back(is_recent ? report.growth.recent(key)
                                       : report.growth.since_start(key));
  }
  if (sorts) sort_by_growth(report, options.table.top);
}

}  // namespace

LiveReport live_report(const Recording& picture, std::vector<LiveProcess> processes,
                       const LiveOptions& options, const std::optional<LiveChanges>& changes) {
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
  report.allocated = present::Whole(picture, allocated).measure_total(level);
  report.live = present::Whole(picture, live).measure_total(level);
  report.samples = report.allocated.samples;
  report.live_samples = report.live.samples;
  report.detection_limit = estimation::detection_limit(live.largest_interval, level);
  if (changes) {
    report.growth = GrowthReport(picture, live, selection_of(options, Kind::kLiveAtEnd).keeps,
                                 options.table.by, level, changes->start, changes->recent);
  }
  if (options.kind == Kind::kAllocated) {
    report.table = table_report(picture, allocated, options.table);
  } else {
    add_live_table(report, picture, live);
  }
  return report;
}

}  // namespace geiger::report
